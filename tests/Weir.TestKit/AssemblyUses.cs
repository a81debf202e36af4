using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

namespace Weir.TestKit;

/// <summary>Which source files of a project use types of which others, read from the compiled assembly and its symbols.</summary>
/// <remarks>What the compiler puts in place leaves no trace: constants, and nameof.</remarks>
public sealed class AssemblyUses : IDisposable
{
    // The symbols of a type none of whose methods has a line of code.
    private static readonly Guid TypeDocuments = new("932E74BC-DBA9-4478-8D46-0F32A7BAB3D3");

    private readonly PEReader _file;
    private readonly MetadataReaderProvider _symbolsFile;
    private readonly MetadataReader _code;
    private readonly MetadataReader _symbols;
    private readonly Dictionary<TypeDefinitionHandle, string?> _documents = [];

    public AssemblyUses(string assembly)
    {
        _file = new PEReader(File.OpenRead(assembly));
        _symbolsFile = MetadataReaderProvider.FromPortablePdbStream(File.OpenRead(Path.ChangeExtension(assembly, ".pdb")));
        _code = _file.GetMetadataReader();
        _symbols = _symbolsFile.GetMetadataReader();
    }

    /// <summary>The source files, with the hash of what was compiled.</summary>
    public IEnumerable<(string Path, byte[] Hash)> Documents =>
        _symbols.Documents.Select(_symbols.GetDocument).Select(d => (_symbols.GetString(d.Name), _symbols.GetBlobBytes(d.Hash)));

    /// <summary>Each use of a type of this assembly by code that is in another file: that file, the type's file, and the type.</summary>
    public IEnumerable<(string User, string Used, string Type)> All() =>
        Found().Where(static use => use.User is not null).SelectMany(use => Uses(use.User!, use.Types.Found));

    /// <summary>Each use of a type of another assembly: the file, and the type with its namespace.</summary>
    public IEnumerable<(string User, string Type)> Outside() =>
        Found().Where(static use => use.User is not null).SelectMany(use => use.Types.Elsewhere.Select(type => (use.User!, NameOf(type))));

    /// <summary>Each type with its namespace, and its file.</summary>
    public IEnumerable<(string Type, string Document)> Types() =>
        _code.TypeDefinitions.Select(handle => (NameOf(_code.GetTypeDefinition(handle)), DocumentOf(handle)!)).Where(static type => type.Item2 is not null);

    private IEnumerable<(string? User, TypeCollector Types)> Found()
    {
        foreach (TypeDefinitionHandle handle in _code.TypeDefinitions)
        {
            TypeDefinition type = _code.GetTypeDefinition(handle);
            TypeCollector collector = new(_code);
            collector.AddDeclaration(type);
            yield return (DocumentOf(handle), collector);

            foreach (MethodDefinitionHandle method in type.GetMethods())
            {
                TypeCollector body = new(_code);
                body.AddMethod(_code.GetMethodDefinition(method), _file);
                yield return (DocumentOf(method) ?? DocumentOf(handle), body);
            }
        }
    }

    /// <summary>Each method that has lines of code, as the runtime names it (<c>Namespace.Type`1+Nested:Method</c>), and its file.</summary>
    public IEnumerable<(string Method, string Document)> Methods()
    {
        foreach (TypeDefinitionHandle handle in _code.TypeDefinitions)
        {
            TypeDefinition type = _code.GetTypeDefinition(handle);
            foreach (MethodDefinitionHandle method in type.GetMethods())
            {
                if ((DocumentOf(method) ?? (type.IsNested ? DocumentOf(handle) : null)) is { } document)
                {
                    yield return ($"{NameOf(type)}:{_code.GetString(_code.GetMethodDefinition(method).Name)}", document);
                }
            }
        }
    }

    public void Dispose()
    {
        _file.Dispose();
        _symbolsFile.Dispose();
    }

    private IEnumerable<(string User, string Used, string Type)> Uses(string user, IEnumerable<TypeDefinitionHandle> types)
    {
        foreach (TypeDefinitionHandle type in types)
        {
            if (DocumentOf(type) is { } used && used != user)
            {
                yield return (user, used, _code.GetString(_code.GetTypeDefinition(type).Name));
            }
        }
    }

    private string NameOf(TypeReferenceHandle handle)
    {
        TypeReference type = _code.GetTypeReference(handle);
        return type.ResolutionScope.Kind == HandleKind.TypeReference
            ? $"{NameOf((TypeReferenceHandle)type.ResolutionScope)}+{_code.GetString(type.Name)}"
            : $"{_code.GetString(type.Namespace)}.{_code.GetString(type.Name)}";
    }

    private string NameOf(TypeDefinition type) => type.IsNested
        ? $"{NameOf(_code.GetTypeDefinition(type.GetDeclaringType()))}+{_code.GetString(type.Name)}"
        : $"{_code.GetString(type.Namespace)}.{_code.GetString(type.Name)}";

    private string? DocumentOf(MethodDefinitionHandle method)
    {
        MethodDebugInformation information = _symbols.GetMethodDebugInformation(method.ToDebugInformationHandle());
        DocumentHandle document = information.Document.IsNil && !information.SequencePointsBlob.IsNil
            ? information.GetSequencePoints().Select(static p => p.Document).FirstOrDefault()
            : information.Document;
        return document.IsNil ? null : _symbols.GetString(_symbols.GetDocument(document).Name);
    }

    // A type of several files is where its first line of code is. What the compiler made belongs to the type around it.
    private string? DocumentOf(TypeDefinitionHandle handle)
    {
        if (!_documents.TryGetValue(handle, out string? document))
        {
            TypeDefinition type = _code.GetTypeDefinition(handle);
            document = type.GetMethods().Select(DocumentOf).FirstOrDefault(static d => d is not null)
                ?? Listed(handle)
                ?? (type.IsNested ? DocumentOf(type.GetDeclaringType()) : null);
            _documents[handle] = document;
        }

        return document;
    }

    private string? Listed(TypeDefinitionHandle type)
    {
        foreach (CustomDebugInformation information in _symbols.GetCustomDebugInformation(type).Select(_symbols.GetCustomDebugInformation))
        {
            if (_symbols.GetGuid(information.Kind) == TypeDocuments)
            {
                int row = _symbols.GetBlobReader(information.Value).ReadCompressedInteger();
                return _symbols.GetString(_symbols.GetDocument(MetadataTokens.DocumentHandle(row)).Name);
            }
        }

        return null;
    }
}

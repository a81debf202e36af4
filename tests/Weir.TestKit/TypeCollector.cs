using System.Collections.Immutable;
using System.Reflection;
using System.Reflection.Emit;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

namespace Weir.TestKit;

/// <summary>Collects the types that declarations, signatures and code name.</summary>
public sealed class TypeCollector(MetadataReader code) : ISignatureTypeProvider<int, int>
{
    private static readonly Dictionary<int, OperandType> Operands = typeof(OpCodes).GetFields(BindingFlags.Public | BindingFlags.Static)
        .Select(static f => (OpCode)f.GetValue(null)!)
        .ToDictionary(static o => (int)(ushort)o.Value, static o => o.OperandType);

    public HashSet<TypeDefinitionHandle> Found { get; } = [];

    /// <summary>The types of other assemblies.</summary>
    public HashSet<TypeReferenceHandle> Elsewhere { get; } = [];

    public void AddDeclaration(TypeDefinition type)
    {
        Add(type.BaseType);
        Add(type.GetCustomAttributes());
        Add(type.GetGenericParameters());
        foreach (InterfaceImplementationHandle contract in type.GetInterfaceImplementations())
        {
            Add(code.GetInterfaceImplementation(contract).Interface);
        }

        foreach (FieldDefinition field in type.GetFields().Select(code.GetFieldDefinition))
        {
            field.DecodeSignature(this, 0);
            Add(field.GetCustomAttributes());
        }

        foreach (PropertyDefinitionHandle property in type.GetProperties())
        {
            Add(code.GetPropertyDefinition(property).GetCustomAttributes());
        }
    }

    public void AddMethod(MethodDefinition method, PEReader file)
    {
        method.DecodeSignature(this, 0);
        Add(method.GetCustomAttributes());
        Add(method.GetGenericParameters());
        if (method.RelativeVirtualAddress == 0)
        {
            return;
        }

        MethodBodyBlock body = file.GetMethodBody(method.RelativeVirtualAddress);
        if (!body.LocalSignature.IsNil)
        {
            code.GetStandaloneSignature(body.LocalSignature).DecodeLocalSignature(this, 0);
        }

        foreach (ExceptionRegion region in body.ExceptionRegions)
        {
            Add(region.CatchType);
        }

        BlobReader il = body.GetILReader();
        while (il.RemainingBytes > 0)
        {
            int value = il.ReadByte();
            value = value == 0xFE ? 0xFE00 | il.ReadByte() : value;
            AddOperand(ref il, Operands[value]);
        }
    }

    public int GetTypeFromDefinition(MetadataReader reader, TypeDefinitionHandle handle, byte rawTypeKind)
    {
        Found.Add(handle);
        return 0;
    }

    public int GetTypeFromSpecification(MetadataReader reader, int genericContext, TypeSpecificationHandle handle, byte rawTypeKind)
    {
        Add(handle);
        return 0;
    }

    public int GetArrayType(int elementType, ArrayShape shape) => 0;

    public int GetByReferenceType(int elementType) => 0;

    public int GetFunctionPointerType(MethodSignature<int> signature) => 0;

    public int GetGenericInstantiation(int genericType, ImmutableArray<int> typeArguments) => 0;

    public int GetGenericMethodParameter(int genericContext, int index) => 0;

    public int GetGenericTypeParameter(int genericContext, int index) => 0;

    public int GetModifiedType(int modifier, int unmodifiedType, bool isRequired) => 0;

    public int GetPinnedType(int elementType) => 0;

    public int GetPointerType(int elementType) => 0;

    public int GetPrimitiveType(PrimitiveTypeCode typeCode) => 0;

    public int GetSZArrayType(int elementType) => 0;

    public int GetTypeFromReference(MetadataReader reader, TypeReferenceHandle handle, byte rawTypeKind)
    {
        Elsewhere.Add(handle);
        return 0;
    }

    private void AddOperand(ref BlobReader il, OperandType operand)
    {
        switch (operand)
        {
            case OperandType.InlineNone:
                break;
            case OperandType.ShortInlineBrTarget or OperandType.ShortInlineI or OperandType.ShortInlineVar:
                il.Offset += 1;
                break;
            case OperandType.InlineVar:
                il.Offset += 2;
                break;
            case OperandType.InlineI8 or OperandType.InlineR:
                il.Offset += 8;
                break;
            case OperandType.InlineSwitch:
                int count = il.ReadInt32();
                il.Offset += count * 4;
                break;
            case OperandType.InlineField or OperandType.InlineMethod or OperandType.InlineTok or OperandType.InlineType:
                Add(MetadataTokens.EntityHandle(il.ReadInt32()));
                break;
            default:
                il.Offset += 4;
                break;
        }
    }

    private void Add(EntityHandle handle)
    {
        if (handle.IsNil)
        {
            return;
        }

        switch (handle.Kind)
        {
            case HandleKind.TypeDefinition:
                Found.Add((TypeDefinitionHandle)handle);
                break;
            case HandleKind.TypeReference:
                Elsewhere.Add((TypeReferenceHandle)handle);
                break;
            case HandleKind.TypeSpecification:
                code.GetTypeSpecification((TypeSpecificationHandle)handle).DecodeSignature(this, 0);
                break;
            case HandleKind.MethodDefinition:
                Found.Add(code.GetMethodDefinition((MethodDefinitionHandle)handle).GetDeclaringType());
                break;
            case HandleKind.FieldDefinition:
                Found.Add(code.GetFieldDefinition((FieldDefinitionHandle)handle).GetDeclaringType());
                break;
            case HandleKind.MemberReference:
                Add(code.GetMemberReference((MemberReferenceHandle)handle).Parent);
                break;
            case HandleKind.MethodSpecification:
                MethodSpecification method = code.GetMethodSpecification((MethodSpecificationHandle)handle);
                Add(method.Method);
                method.DecodeSignature(this, 0);
                break;
        }
    }

    private void Add(CustomAttributeHandleCollection attributes)
    {
        foreach (CustomAttributeHandle attribute in attributes)
        {
            Add(code.GetCustomAttribute(attribute).Constructor);
        }
    }

    private void Add(GenericParameterHandleCollection parameters)
    {
        foreach (GenericParameterConstraintHandle constraint in parameters.SelectMany(p => code.GetGenericParameter(p).GetConstraints()))
        {
            Add(code.GetGenericParameterConstraint(constraint).Type);
        }
    }
}

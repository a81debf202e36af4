namespace Weir.Explore.Rewriting;

/// <summary>Writes a copy of an assembly in which the explorer has its points.</summary>
internal static class AssemblyRewriter
{
    private static readonly Lazy<ModuleDefinition> Model = new(static () => ModuleDefinition.ReadModule(typeof(AssemblyRewriter).Assembly.Location));

    private static readonly Lazy<ReplacementTable> Table = new(static () => new ReplacementTable(Model.Value));

    public static void Rewrite(
        string path, string target, Func<FieldReference, bool> isSharedField, bool storeBuffers, IReadOnlyCollection<string>? meantRaces, bool conflicts)
    {
        using DefaultAssemblyResolver resolver = new();
        resolver.AddSearchDirectory(Path.GetDirectoryName(path));
        resolver.AddSearchDirectory(Path.GetDirectoryName(typeof(object).Assembly.Location));
        bool hasSymbols = File.Exists(Path.ChangeExtension(path, ".pdb"));
        using ModuleDefinition module = ModuleDefinition.ReadModule(
            path, new ReaderParameters { ReadSymbols = hasSymbols, AssemblyResolver = resolver, InMemory = true });
        PointCalls points = new(module);
        RaceRewriter? races = meantRaces is null ? null : new RaceRewriter(module, points, meantRaces);
        AccessRewriter? accesses = storeBuffers || conflicts || races is not null
            ? new AccessRewriter(module, points, storeBuffers, races, conflicts ? new ConflictRewriter(module, points) : null)
            : null;
        MethodRewriter methods = new(module, Table.Value, points, accesses, isSharedField);
        StaticsRewriter statics = new(module, points);
        foreach (TypeDefinition type in module.GetTypes().ToArray())
        {
            foreach (MethodDefinition method in type.Methods.Where(static m => m.HasBody))
            {
                if (method is { Name: "Finalize", IsVirtual: true, HasParameters: false })
                {
                    // It would run at any time on a thread that is not controlled.
                    method.Body = new MethodBody(method);
                    method.Body.GetILProcessor().Emit(OpCodes.Ret);
                    continue;
                }

                methods.Rewrite(method);
            }

            statics.Rewrite(type);
        }

        Substitute(module);
        AllowAccess(module);

        // Machine code that was compiled ahead, for one kind of machine, is not kept.
        module.Attributes |= ModuleAttributes.ILOnly;
        module.Architecture = TargetArchitecture.I386;
        module.Write(target, new WriterParameters { WriteSymbols = hasSymbols });
    }

    private static void Substitute(ModuleDefinition module)
    {
        IMetadataScope scope = module.ImportReference(typeof(AssemblyRewriter)).Scope;
        foreach (TypeReference type in module.GetTypeReferences())
        {
            if (type.DeclaringType is null && Table.Value.TypeFor(type.FullName) is { } substitute)
            {
                type.Namespace = substitute.Namespace;
                type.Name = substitute.Name;
                type.Scope = scope;
            }
        }
    }

    /// <summary>The model is internal. The runtime lets an assembly use the internals of one that such an attribute names.</summary>
    private static void AllowAccess(ModuleDefinition module)
    {
        CustomAttribute use = new(module.ImportReference(typeof(IgnoresAccessChecksToAttribute).GetConstructors()[0]));
        use.ConstructorArguments.Add(new CustomAttributeArgument(module.TypeSystem.String, typeof(AssemblyRewriter).Assembly.GetName().Name));
        module.Assembly.CustomAttributes.Add(use);
    }
}

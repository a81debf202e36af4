using Mono.Collections.Generic;
using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>Writes a copy of an assembly in which the explorer has its points.</summary>
internal static class AssemblyRewriter
{
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
            ? new AccessRewriter(module, points, storeBuffers ? isSharedField : null, races, conflicts ? new ConflictRewriter(module, points) : null)
            : null;
        MethodRewriter methods = new(module, ReplacementTable.OfModel, points, accesses, isSharedField);
        StaticsRewriter statics = new(module, points);
        foreach (TypeDefinition type in module.GetTypes().ToArray())
        {
            if (type.BaseType is { } parent && ReplacementTable.OfModel.TypeFor(parent.FullName) is not null)
            {
                RefuseDerived(type, points);
            }

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

        // Machine code that was compiled ahead, for one kind of machine, is dropped.
        module.Attributes |= ModuleAttributes.ILOnly;
        module.Architecture = TargetArchitecture.I386;
        module.Write(target, new WriterParameters { WriteSymbols = hasSymbols });
    }

    /// <summary>Nothing is derived from what the model has in place of a type: the constructors say so.</summary>
    private static void RefuseDerived(TypeDefinition type, PointCalls points)
    {
        foreach (MethodDefinition constructor in type.Methods.Where(static m => m.IsConstructor && !m.IsStatic))
        {
            ILProcessor il = (constructor.Body = new MethodBody(constructor)).GetILProcessor();
            il.Emit(OpCodes.Ldstr, $"a class that is derived from {type.BaseType.FullName}");
            il.Emit(OpCodes.Ldstr, $"the constructor of {type.FullName}");
            il.Emit(OpCodes.Call, points.Closed(typeof(Points), nameof(Points.Refuse), type.Module.TypeSystem.Object));
            il.Emit(OpCodes.Pop);
            il.Emit(OpCodes.Ret);
        }

        type.BaseType = type.Module.TypeSystem.Object;
    }

    private static void Substitute(ModuleDefinition module)
    {
        IMetadataScope scope = module.ImportReference(typeof(AssemblyRewriter)).Scope;
        foreach (TypeReference type in module.GetTypeReferences())
        {
            if (type.DeclaringType is null && ReplacementTable.OfModel.TypeFor(type.FullName) is { } substitute)
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

/// <summary>Puts points into the methods of one module, and replaces calls.</summary>
internal sealed class MethodRewriter(
    ModuleDefinition module, ReplacementTable table, PointCalls points, AccessRewriter? accesses, Func<FieldReference, bool> isSharedField)
{
    private readonly ConflictRewriter _plain = new(module, points);
    private bool _isConstructor;

    public void Rewrite(MethodDefinition method)
    {
        MethodBody body = method.Body;
        body.SimplifyMacros();
        _isConstructor = method.Name == ".ctor";
        accesses?.Begin(body);
        IDictionary<Instruction, SequencePoint> lines = method.DebugInformation.GetSequencePointMapping();
        string line = $"{method.DeclaringType.Name}.{method.Name}";
        List<(Action<ILProcessor, string> Change, string Site)> changes = [];
        foreach (Instruction instruction in body.Instructions)
        {
            if (lines.TryGetValue(instruction, out SequencePoint? point) && !point.IsHidden)
            {
                line = $"{Path.GetFileName(point.Document.Url.Replace('\\', '/'))}:{point.StartLine}";
            }

            if (ChangeOf(instruction) is { } change)
            {
                changes.Add((change, $"{line} {What(instruction)}"));
            }
        }

        changes.ForEach(c => c.Change(body.GetILProcessor(), c.Site));
        body.OptimizeMacros();
    }

    private static string What(Instruction instruction)
    {
        if (instruction.Operand is null or TypeReference && instruction.OpCode.OpCodeType != OpCodeType.Prefix)
        {
            return $"{(RaceRewriter.IsRead(instruction) ? "read" : "write")} {(RaceRewriter.IsElement(instruction) ? "of an element" : "through a reference")}";
        }

        for (Instruction? next = instruction; next is not null; next = next.Next)
        {
            switch (next.Operand)
            {
                case MethodReference called:
                    return $"{called.DeclaringType.GetElementType().Name}.{called.Name}";
                case FieldReference field:
                    return $"{(next.OpCode.Name.StartsWith('s') ? "write" : "read")} of {field.DeclaringType.GetElementType().Name}.{field.Name}";
                default:
                    break;
            }
        }

        return "";
    }

    private Action<ILProcessor, string>? ChangeOf(Instruction instruction)
    {
        Instruction first = Instructions.First(instruction);
        switch (instruction.Operand)
        {
            case MethodReference called when instruction.OpCode.Code is Code.Call or Code.Callvirt or Code.Newobj:
                return ChangeOfCall(instruction, first, called);
            case MethodReference grouped when instruction.OpCode.Code is Code.Ldftn or Code.Ldvirtftn && IsPlatform(grouped.DeclaringType.GetElementType()):
                return ChangeOfGroup(instruction, grouped);
            case FieldReference field when instruction.OpCode.Code is Code.Ldfld or Code.Stfld or Code.Ldsfld or Code.Stsfld:
                bool isVolatile = first.OpCode.Code == Code.Volatile;
                bool isLate = accesses is not null && AccessRewriter.CanBeAddressed(instruction, field);
                return isVolatile || isSharedField(field) ? (il, site) => InsertAccess(il, first, site, isLate, isVolatile)
                    : AfterPoint(first, IsSeen(instruction, field), accesses?.ChangeOf(instruction, field));
            case FieldReference or TypeReference when accesses is not null && instruction.OpCode.Code is Code.Ldflda or Code.Ldsflda or Code.Ldelema:
                return accesses.ChangeOfAddress(instruction);
            default:
                return AfterPoint(first, RaceRewriter.IsElement(instruction), ChangeOfNameless(instruction));
        }
    }

    /// <summary>Whether others may see a plain access. Nobody else has an object before its constructor has ended.</summary>
    private bool IsSeen(Instruction access, FieldReference field) =>
        AccessRewriter.CanBeAddressed(access, field) && _plain.IsTracked(field) && !(_isConstructor && access.OpCode.Code == Code.Stfld);

    /// <summary>A plain access is a point if it follows a store that is one.</summary>
    private Action<ILProcessor, string>? AfterPoint(Instruction first, bool isSeen, Action<ILProcessor, string>? change) => !isSeen ? change : (il, site) =>
    {
        change?.Invoke(il, site);
        Insert(il, first, site, points[nameof(Points.Plain)]);
    };

    private Action<ILProcessor, string>? ChangeOfNameless(Instruction instruction) =>
        accesses?.IsChecked(instruction) is true ? (il, site) => accesses.Nameless(il, instruction, site)
        : accesses?.Conflicts?.ChangeOfOther(instruction) is { } change ? change
        : instruction.OpCode.Code == Code.Volatile && instruction.Next.Operand is not FieldReference
            ? (il, site) => Insert(il, instruction, site, points[nameof(Points.Step)])
        : null;

    private Action<ILProcessor, string>? ChangeOfCall(Instruction instruction, Instruction first, MethodReference called)
    {
        bool isNew = instruction.OpCode.Code == Code.Newobj;
        if (isNew && instruction.Previous is { OpCode.Code: Code.Ldftn or Code.Ldvirtftn, Operand: MethodReference grouped } && IsPointAlone(grouped))
        {
            return (il, site) =>
            {
                Instruction made = Insert(il, first, site, points[nameof(Points.Site)]);
                il.InsertAfter(made, il.Create(OpCodes.Call, points.Closed(typeof(Points), nameof(Points.Delegate), called.DeclaringType)));
                il.InsertAfter(made, il.Create(OpCodes.Ldstr, site));
            };
        }

        if (instruction.Previous is { OpCode.Code: Code.Constrained, Operand: TypeReference constrained } && IsPlatform(constrained.GetElementType()))
        {
            // A method of an interface, called on a structure of the platform.
            MethodReference ofStructure = new(called.Name, called.ReturnType, constrained) { HasThis = true };
            called = table.MethodFor(ofStructure, isNew: false) is null && AwaitOf(ofStructure) is null ? called : ofStructure;
        }

        bool isOfInterface = instruction.Previous is { OpCode.Code: Code.Constrained } && called.DeclaringType.FullName == "System.IDisposable";

        TypeReference type = called.DeclaringType.GetElementType();
        if (called.DeclaringType is ArrayType && accesses?.Conflicts is { } ofArrays)
        {
            return ChangeOfShared(first, ofArrays.HookOf(instruction, called), isPoint: false);
        }

        if (isOfInterface || !IsPlatform(type))
        {
            bool isLeftAlone = type.Scope is AssemblyNameReference scope && !IsPlatform(type) && Platform.IsLeftAlone(scope.Name);
            return accesses?.Conflicts is { } foreign && isLeftAlone
                ? (il, site) => foreign.Foreign(il, Insert(il, first, site, points[nameof(Points.Site)]))
                : null;
        }

        if (AwaitOf(called) is { } awaits)
        {
            return (il, site) => Replace(il, first, site, awaits);
        }

        if (Platform.IsAwaiter(type) && called is { Name: "GetResult", DeclaringType: var awaiter })
        {
            return (il, site) =>
            {
                Instruction call = Insert(il, first, site, points[nameof(Points.Site)]);
                il.InsertBefore(call, il.Create(OpCodes.Dup));
                il.InsertBefore(call, il.Create(OpCodes.Call, points.Closed(typeof(Waits), nameof(Waits.Wait), awaiter)));
            };
        }

        if (isNew && type is { Name: "Meter" or "MeterListener" or "ActivitySource", Namespace: "System.Diagnostics" or "System.Diagnostics.Metrics" })
        {
            MethodReference disposeLater = points.Closed(typeof(Meters), nameof(Meters.DisposeLater), called.DeclaringType);
            return (il, site) => il.InsertAfter(Insert(il, first, site, points[nameof(Points.Site)]), il.Create(OpCodes.Call, disposeLater));
        }

        if (instruction.OpCode.Code == Code.Call && called.Name == "Post" && type.FullName == "System.Threading.SynchronizationContext")
        {
            return (il, site) => Replace(il, first, site, points.Of(typeof(Contexts), nameof(Contexts.PostOfBase)));
        }

        bool isOrdered = accesses is { Races: not null } or { Conflicts: not null } && RaceRewriter.IsOrdered(called);
        if (table.MethodFor(called, isNew) is { } replacement)
        {
            MethodReference reference = ClosedFor(replacement, called);
            return (il, site) => Replace(il, first, site, reference, isOrdered ? nameof(Points.OrderedSite) : nameof(Points.Site));
        }

        if (Substituted(type) is { } substitute)
        {
            return table.HasMember(substitute, called)
                ? (il, site) => Insert(il, first, site, points[nameof(Points.Site)])
                : (il, site) => Refuse(il, first, called, isNew, site);
        }

        if (IsRefused(called, isNew))
        {
            return (il, site) => Refuse(il, first, called, isNew, site);
        }

        bool isStore = called is { Name: "Write", DeclaringType.FullName: "System.Threading.Volatile" };
        bool isLook = accesses is not null && Platform.IsLook(called);
        string alone = isLook ? nameof(Points.Access) : nameof(Points.StepAlone);
        Action<ILProcessor, Instruction>? inside = Platform.IsOfCollections(called) && instruction.Previous?.OpCode.Code != Code.Constrained
            ? (il, call) => points.Tell(il, call, points[nameof(Points.Collection)])
            : null;
        return (accesses is null ? "" : type.FullName) switch
        {
            "System.Threading.Volatile" => (il, site) =>
                accesses!.Volatile(Insert(il, first, site, points[isStore ? nameof(Points.LateStore) : nameof(Points.Access)])),
            "System.Threading.Interlocked" => (il, site) => accesses!.Atomic(il, Insert(il, first, site, points[nameof(Points.Fence)])),
            _ when accesses?.Conflicts is { } conflicts => ChangeOfShared(first, inside + conflicts.HookOf(instruction, called), Platform.IsPoint(called)),
            _ when inside is not null => ChangeOfShared(first, inside, isPoint: false),
            _ when accesses?.ChangeOfMemory(called) is { } memory => (il, site) => memory(il, Insert(il, first, site, points[nameof(Points.Site)])),
            _ when accesses?.Races?.HookOf(called) is { } hook => (il, site) =>
                hook(il, Insert(il, first, site, points[Platform.IsPoint(called) ? alone : nameof(Points.Site)])),
            _ when isOrdered => (il, site) => InsertOrdered(il, first, site),
            _ => !Platform.IsPoint(called) ? null
                : (il, site) => Insert(il, first, site, points[isStore ? nameof(Points.Store) : isLook ? nameof(Points.Access) : nameof(Points.Step)]),
        };
    }

    /// <summary>
    /// A method of which a delegate is made. One of the model gets the delegate's object as its first argument, which cannot be that of a structure. A delegate of
    /// a point that is the platform's own call is changed where it is made (<see cref="Points.Delegate"/>).
    /// </summary>
    private Action<ILProcessor, string>? ChangeOfGroup(Instruction instruction, MethodReference called)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        MethodDefinition? replacement = table.MethodFor(called, isNew: false);
        bool isThere = replacement is not null ? !(called.HasThis && type.IsValueType)
            : Substituted(type) is { } substitute ? table.HasMember(substitute, called)
            : !IsRefused(called, isNew: false);
        if (isThere && replacement is null)
        {
            return null;
        }

        return (il, site) =>
        {
            if (instruction.OpCode.Code == Code.Ldvirtftn)
            {
                il.InsertBefore(instruction, il.Create(OpCodes.Pop));
            }

            if (isThere)
            {
                (instruction.OpCode, instruction.Operand) = (OpCodes.Ldftn, ClosedFor(replacement!, called));
                return;
            }

            il.InsertBefore(instruction, il.Create(OpCodes.Ldstr, NameOf(called)));
            il.InsertBefore(instruction, il.Create(OpCodes.Ldstr, site));
            (instruction.OpCode, instruction.Operand) = (OpCodes.Call, points.Closed(typeof(Points), nameof(Points.Refuse), module.TypeSystem.IntPtr));
        };
    }

    private Action<ILProcessor, string>? ChangeOfShared(Instruction first, Action<ILProcessor, Instruction>? hook, bool isPoint) =>
        hook is null && !isPoint ? null : (il, site) =>
        {
            Instruction moved = Insert(il, first, site, isPoint ? points[nameof(Points.StepAlone)] : points[nameof(Points.Site)]);
            hook?.Invoke(il, moved);
        };

    private void InsertAccess(ILProcessor il, Instruction first, string site, bool isLate, bool isVolatile)
    {
        bool isStore = Instructions.Last(first).OpCode.Code is Code.Stfld or Code.Stsfld;
        string point = isLate
            ? isStore ? nameof(Points.LateStore) : nameof(Points.Access)
            : isStore ? nameof(Points.Store) : nameof(Points.Step);
        Instruction access = Insert(il, first, site, points[point]);
        if (!isLate)
        {
            return;
        }

        access = il.WithoutPrefixes(access);
        if (isVolatile)
        {
            points.Field(il, access, nameof(Stores.Read), nameof(Stores.Write), null, AccessRewriter.IfFixed(access, nameof(Stores.WriteOf)));
        }
        else
        {
            points.Field(il, access, nameof(Stores.ReadPlain), nameof(Stores.WritePlain), site, AccessRewriter.IfFixed(access, nameof(Stores.WritePlainOf)));
        }
    }

    private bool IsPointAlone(MethodReference called) => Platform.IsPoint(called) && table.MethodFor(called, isNew: false) is null;

    private bool IsRefused(MethodReference called, bool isNew)
    {
        string type = called.DeclaringType.GetElementType().FullName;
        return Platform.IsRefused(called, table.IsKnown(type), table.IsKnown(type, isNew ? "New" : called.Name));
    }

    private MethodReference ClosedFor(MethodDefinition replacement, MethodReference called) =>
        PointCalls.Closed(module.ImportReference(replacement), [.. Arguments(called.DeclaringType), .. Arguments(called)]);

    private static string NameOf(MethodReference called) => $"{called.DeclaringType.GetElementType().FullName}.{called.Name}";

    private static bool IsPlatform(TypeReference type) => type.Scope is AssemblyNameReference { Name: var name } &&
        (name.StartsWith("System.", StringComparison.Ordinal) || name is "netstandard" or "mscorlib");

    private TypeDefinition? Substituted(TypeReference type) => type.DeclaringType is { } outer
        ? Substituted(outer)?.NestedTypes.FirstOrDefault(t => t.Name == type.Name)
        : table.TypeFor(type.FullName);

    /// <summary>Inserts so that jumps to the instruction come to what is inserted. Returns what is the instruction now.</summary>
    private static Instruction Insert(ILProcessor il, Instruction instruction, string site, MethodReference point)
    {
        Instruction moved = il.Move(instruction);
        (instruction.OpCode, instruction.Operand) = (OpCodes.Ldstr, site);
        il.InsertAfter(instruction, il.Create(OpCodes.Call, point));
        return moved;
    }

    /// <summary>
    /// Lets a call throw, in place of the call itself: with types of the model among its parameters, the platform has no such method, and tells that before
    /// anything of the method around it runs.
    /// </summary>
    private void Refuse(ILProcessor il, Instruction first, MethodReference called, bool isNew, string site)
    {
        Instruction call = il.WithoutPrefixes(Insert(il, first, site, points[nameof(Points.Site)]));
        for (int i = called.Parameters.Count + (called.HasThis && !isNew ? 1 : 0); i > 0; i--)
        {
            il.InsertBefore(call, il.Create(OpCodes.Pop));
        }

        bool isVoid = !isNew && called.ReturnType.MetadataType == MetadataType.Void;
        TypeReference result = isNew ? called.DeclaringType
            : isVoid ? module.TypeSystem.Object
            : called.ReturnType is ByReferenceType or PointerType ? module.TypeSystem.IntPtr
            : points.TypeOf(called.ReturnType, called);
        (call.OpCode, call.Operand) = (OpCodes.Ldstr, NameOf(called));
        Instruction refuse = il.Create(OpCodes.Call, points.Closed(typeof(Points), nameof(Points.Refuse), result));
        il.InsertAfter(call, refuse);
        il.InsertAfter(call, il.Create(OpCodes.Ldstr, site));
        if (isVoid)
        {
            il.InsertAfter(refuse, il.Create(OpCodes.Pop));
        }
    }

    /// <summary>Before and after: what the call runs comes before what sees that it has ended.</summary>
    private void InsertOrdered(ILProcessor il, Instruction first, string site)
    {
        Instruction call = Instructions.Last(Insert(il, first, site, points[nameof(Points.OrderedSite)]));
        il.InsertAfter(call, il.Create(OpCodes.Call, points.Of(typeof(Effects), nameof(Effects.CallPlatform))));
    }

    private void Replace(ILProcessor il, Instruction first, string site, MethodReference replacement, string point = nameof(Points.Site))
    {
        Instruction call = il.WithoutPrefixes(Insert(il, first, site, points[point]));
        (call.OpCode, call.Operand) = (OpCodes.Call, replacement);
    }

    /// <summary>What is called in place of a method with which a builder, or code of its own, awaits.</summary>
    private MethodReference? AwaitOf(MethodReference called)
    {
        TypeReference type = called.DeclaringType;
        return called.Name switch
        {
            "AwaitOnCompleted" or "AwaitUnsafeOnCompleted" when Platform.IsBuilder(type.GetElementType()) =>
                PointCalls.Closed(points.Of(typeof(Builders), nameof(Builders.Await)), [type, .. Arguments(called)]),
            "OnCompleted" or "UnsafeOnCompleted" when Platform.IsAwaiter(type.GetElementType()) =>
                points.Closed(typeof(Waits), nameof(Waits.OnCompleted), type),
            _ => null,
        };
    }

    private static Collection<TypeReference> Arguments(MemberReference member) => member is IGenericInstance instance ? instance.GenericArguments : [];
}

/// <summary>Lets a class with static fields be initialized again before each schedule.</summary>
internal sealed class StaticsRewriter(ModuleDefinition module, PointCalls points)
{
    private const MethodAttributes StaticHelper = MethodAttributes.Private | MethodAttributes.Static | MethodAttributes.HideBySig;

    /// <summary>One of them may be in a process once.</summary>
    private const string EventSource = "System.Diagnostics.Tracing.EventSource";

    public void Rewrite(TypeDefinition type)
    {
        FieldDefinition[] fields = [.. type.Fields.Where(static f => f.IsStatic && !f.IsLiteral && f.RVA == 0)];
        if (type.Name.StartsWith('<') || type.IsEnum || fields.Length == 0 || type.BaseType?.FullName == EventSource)
        {
            return;
        }

        FieldDefinition[] ofThreads = [.. fields.Where(static f => f.CustomAttributes.Any(static a => a.AttributeType.Name == nameof(ThreadStaticAttribute)))];
        FieldDefinition[] ofAll = [.. fields.Except(ofThreads)];
        foreach (FieldDefinition field in fields)
        {
            field.IsInitOnly = false;
        }

        MethodDefinition? old = type.Methods.FirstOrDefault(static m => m.Name == ".cctor");
        MethodDefinition constructor = new(
            ".cctor", StaticHelper | MethodAttributes.SpecialName | MethodAttributes.RTSpecialName, module.TypeSystem.Void);
        ILProcessor il = constructor.Body.GetILProcessor();
        if (ofThreads.Length > 0)
        {
            Register(il, type, Clear(type, "<Explore>ClearThread", ofThreads, null), points.Of(typeof(Statics), nameof(Statics.RegisterThread)));
        }

        if (ofAll.Length > 0 || old is not null)
        {
            if (old is not null)
            {
                old.Name = "<Explore>Initialize";
                old.Attributes = StaticHelper;
            }

            Register(il, type, Clear(type, "<Explore>Reset", ofAll, old), points.Of(typeof(Statics), nameof(Statics.Register)));
        }

        il.Emit(OpCodes.Ret);
        type.Methods.Add(constructor);
        if (old is null)
        {
            type.IsBeforeFieldInit = true;
        }
    }

    private void Register(ILProcessor il, TypeDefinition type, MethodDefinition method, MethodReference register)
    {
        il.Emit(OpCodes.Ldnull);
        il.Emit(OpCodes.Ldftn, Own(type, method));
        il.Emit(OpCodes.Newobj, points.NewAction);
        il.Emit(OpCodes.Call, register);
    }

    private MethodDefinition Clear(TypeDefinition type, string name, FieldDefinition[] fields, MethodDefinition? then)
    {
        MethodDefinition method = new(name, StaticHelper, module.TypeSystem.Void);
        ILProcessor il = method.Body.GetILProcessor();
        foreach (FieldDefinition field in fields)
        {
            il.Emit(OpCodes.Ldsflda, Own(type, field));
            il.Emit(OpCodes.Initobj, field.FieldType is RequiredModifierType modified ? modified.ElementType : field.FieldType);
        }

        if (then is not null)
        {
            il.Emit(OpCodes.Call, Own(type, then));
        }

        il.Emit(OpCodes.Ret);
        type.Methods.Add(method);
        return method;
    }

    private static TypeReference Own(TypeDefinition type) => type.HasGenericParameters
        ? type.MakeGenericInstanceType([.. type.GenericParameters])
        : type;

    private static MethodReference Own(TypeDefinition type, MethodDefinition method) => new(method.Name, method.ReturnType, Own(type));

    private static FieldReference Own(TypeDefinition type, FieldDefinition field) => new(field.Name, field.FieldType, Own(type));
}

/// <summary>Which methods and types of the model take the place of those of the platform.</summary>
internal sealed class ReplacementTable
{
    private static readonly Lazy<ReplacementTable> Model =
        new(static () => new ReplacementTable(ModuleDefinition.ReadModule(typeof(ReplacementTable).Assembly.Location)));

    private readonly Dictionary<string, MethodDefinition> _methods = [];
    private readonly Dictionary<string, TypeDefinition> _types = [];
    private readonly Dictionary<string, string> _platformNames = [];
    private readonly HashSet<string> _known = [];

    private ReplacementTable(ModuleDefinition model)
    {
        foreach (TypeDefinition type in model.Types)
        {
            foreach (CustomAttribute attribute in type.CustomAttributes.Where(static a => a.AttributeType.Name == nameof(ReplacesAttribute)))
            {
                string name = (string)attribute.ConstructorArguments[0].Value;
                if (!(type.IsAbstract && type.IsSealed))
                {
                    _types.Add(name, type);
                    _platformNames.Add(type.FullName, name);
                    continue;
                }

                _known.Add(name);
                foreach (MethodDefinition method in type.Methods.Where(static m => m.IsPublic && m.IsStatic))
                {
                    _known.Add($"{name}::{method.Name}");
                    _methods[Key(name, method.Name, method.GenericParameters.Count, Parameters(method.Parameters, name))] = method;
                }
            }
        }
    }

    public static ReplacementTable OfModel => Model.Value;

    /// <summary>The types of the platform that the model stands in for, wholly or with some of their members.</summary>
    public IEnumerable<string> Types => _types.Keys.Concat(_known.Where(static k => !k.Contains("::", StringComparison.Ordinal)));
    public TypeDefinition? TypeFor(string name) => _types.GetValueOrDefault(name);

    /// <summary>Whether methods of the model take the place of some members of a type; or of some with this name.</summary>
    public bool IsKnown(string type, string? name = null) => _known.Contains(name is null ? type : $"{type}::{name}");

    /// <summary>The method that is called in place of <paramref name="called"/>, or null.</summary>
    public MethodDefinition? MethodFor(MethodReference called, bool isNew)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        int ofType = called.DeclaringType is GenericInstanceType instance ? instance.GenericArguments.Count : 0;
        int generic = ofType + (called is GenericInstanceMethod g ? g.GenericArguments.Count : called.GenericParameters.Count);
        string self = called.HasThis && !isNew ? "@," : "";
        string parameters = Parameters(called.Parameters, called.HasThis || isNew ? null : type.FullName, ofType);
        return _methods.GetValueOrDefault(Key(type.FullName, isNew ? "New" : called.Name, generic, self + parameters));
    }

    /// <summary>Whether a substituted type has the member that is called: the platform looks for all of its signature.</summary>
    public bool HasMember(TypeDefinition type, MethodReference called)
    {
        string wanted = Signature(called);
        return type.Methods.Any(m => m.Name == called.Name && !m.IsPrivate && m.HasThis == called.HasThis && Signature(m) == wanted) ||
            (called.Name != ".ctor" && type.BaseType is TypeDefinition parent && HasMember(parent, called));
    }

    private string Signature(MethodReference method) => $"{method.GenericParameters.Count}({Parameters(method.Parameters)}){Name(method.ReturnType, 0)}";

    private static string Key(string type, string name, int generic, string parameters) => $"{type}::{name}`{generic}({parameters}";

    /// <summary>Types of parameters. An instance method of the platform has its object as the first one in the model.</summary>
    private string Parameters(IEnumerable<ParameterDefinition> parameters, string? type = null, int ofType = 0) => string.Concat(parameters.Select(
        (p, i) => i == 0 && type is not null && IsThis(p.ParameterType, type) ? "@," : $"{Name(p.ParameterType, ofType)},"));

    private static bool IsThis(TypeReference parameter, string type)
    {
        TypeReference element = parameter is ByReferenceType reference ? reference.ElementType : parameter;
        return element.GetElementType().FullName == type;
    }

    /// <summary>A type with generic parameters by number: first those of the declaring type, then those of the method.</summary>
    private string Name(TypeReference type, int ofType) => type switch
    {
        GenericParameter parameter => $"!{parameter.Position + (parameter.Type == GenericParameterType.Method ? ofType : 0)}",
        GenericInstanceType instance => $"{NameOf(instance.ElementType)}<{string.Concat(instance.GenericArguments.Select(a => $"{Name(a, ofType)},"))}>",
        RequiredModifierType modified => Name(modified.ElementType, ofType),
        ArrayType array => $"{Name(array.ElementType, ofType)}[]",
        ByReferenceType reference => $"{Name(reference.ElementType, ofType)}&",
        _ => NameOf(type),
    };

    /// <summary>A type of the model has the name of the platform's.</summary>
    private string NameOf(TypeReference type) =>
        type.DeclaringType is { } outer ? $"{NameOf(outer)}/{type.Name}" : _platformNames.GetValueOrDefault(type.FullName, type.FullName);
}

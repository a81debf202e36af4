using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>Which accesses and calls of a module a search for data races has to know.</summary>
internal sealed class RaceRewriter(ModuleDefinition module, PointCalls points, IReadOnlyCollection<string> meant)
{
    /// <summary>A generic parameter that may be a type of the stack alone.</summary>
    private const int AllowsStackOnly = 0x20;

    /// <summary>Types whose calls the platform orders, and which are no points.</summary>
    private static readonly HashSet<string> Ordered =
        ["System.Threading.LazyInitializer", "System.Runtime.CompilerServices.ConditionalWeakTable`2", "System.Threading.Tasks.TaskScheduler"];

    private readonly HashSet<string> _readOnly = ReadOnlyFields(module);
    private readonly Dictionary<string, bool> _known = [];

    /// <summary>The platform's own assemblies, and those of tests, order what goes through them; their own fields are not looked at.</summary>
    public bool IsPlatform { get; } = IsOfPlatform(module.Assembly.Name.Name);

    /// <summary>Whether an access is one of an element of an array, or one through a reference: to a part of a structure, most often.</summary>
    public static bool IsElement(Instruction access) => IsOf(access, "elem") && access.OpCode.Code != Code.Ldelema;

    public static bool IsRead(Instruction access) => access.OpCode.Name.StartsWith("ld", StringComparison.Ordinal);

    public static TypeReference TypeOf(Instruction access, ModuleDefinition module) => access.OpCode.Name.Split('.')[^1] switch
    {
        "i1" => module.TypeSystem.SByte,
        "u1" => module.TypeSystem.Byte,
        "i2" => module.TypeSystem.Int16,
        "u2" => module.TypeSystem.UInt16,
        "i4" => module.TypeSystem.Int32,
        "u4" => module.TypeSystem.UInt32,
        "i8" => module.TypeSystem.Int64,
        "i" => module.TypeSystem.IntPtr,
        "r4" => module.TypeSystem.Single,
        "r8" => module.TypeSystem.Double,
        "ref" => module.TypeSystem.Object,
        _ => (TypeReference)access.Operand,
    };

    /// <summary>Whether an access that names no field is one that others could race with.</summary>
    public bool IsChecked(Instruction access) =>
        !IsPlatform && IsNameless(access, static type => Resolve(type) is { } found && !Has(found, nameof(IsByRefLikeAttribute)));

    /// <summary>Whether an access names no field, and is one to a type that others may see.</summary>
    public static bool IsNameless(Instruction access, Func<TypeReference, bool> isSeen) =>
        (IsElement(access) || IsThroughReference(access)) && access.Previous?.OpCode.OpCodeType != OpCodeType.Prefix &&
        access.Operand switch
        {
            null => true,
            GenericParameter parameter => !MayBeOfStack(parameter),
            PointerType or FunctionPointerType => false,
            TypeReference type => isSeen(type),
            _ => false,
        };

    public static bool IsThroughReference(Instruction access) => IsOf(access, "ind") || IsOf(access, "obj");

    /// <summary>The fields that are read-only, before static ones no longer are because each schedule sets them again.</summary>
    public static HashSet<string> ReadOnlyFields(ModuleDefinition module) =>
        [.. module.GetTypes().SelectMany(static t => t.Fields).Where(static f => f.IsInitOnly).Select(static f => f.FullName)];

    /// <summary>Whether an access to a field that has no point is one that others could race with.</summary>
    public bool IsChecked(Instruction access, FieldReference field) =>
        !IsPlatform && IsShared(field) &&
        !(Instructions.Before(access) is { OpCode.Code: Code.Ldsflda, Operand: FieldReference owner } && field.DeclaringType.IsValueType && !IsShared(owner));

    /// <summary>What a call of the platform does to the order of threads: how to tell that, or null for nothing that has to be told.</summary>
    public Action<ILProcessor, Instruction>? HookOf(MethodReference called)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        string name = type.FullName;
        if (!called.HasThis)
        {
            return null;
        }

        if (HookOfStructure(called, points) is { } ofStructure)
        {
            return (il, call) => points.Tell(il, call, ofStructure);
        }

        string? hook = name is "System.Threading.Tasks.Task" or "System.Threading.Tasks.Task`1" && called.Name.StartsWith("get_", StringComparison.Ordinal)
            ? nameof(Order.Acquire)
            : called.Name is ".ctor" or "get_Task" ? null
            : name.StartsWith("System.Threading.Tasks.TaskCompletionSource", StringComparison.Ordinal) ? nameof(Order.Complete)
            : name.StartsWith("System.Collections.Concurrent.Concurrent", StringComparison.Ordinal) ? nameof(Order.Use)
            : null;

        // What a dictionary calls to make a value comes before that value is there.
        bool calls = called.Parameters.Any(static p => p.ParameterType.Name.StartsWith("Func`", StringComparison.Ordinal));
        return hook is null ? null : (il, call) => points.Tell(il, call, points.Of(typeof(Order), hook), after: calls);
    }

    /// <summary>What is called on an awaited structure, or the builder of an async method, before a call of it; null if it is another call.</summary>
    public static MethodReference? HookOfStructure(MethodReference called, PointCalls points)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        bool reads = called.HasThis && called.Name.StartsWith("get_", StringComparison.Ordinal);
        return Platform.IsBuilder(type) && called.Name is "SetResult" or "SetException"
            ? points.Closed(typeof(Order), nameof(Order.OfBuilder), called.DeclaringType)
            : reads && type.FullName is "System.Threading.Tasks.ValueTask" or "System.Threading.Tasks.ValueTask`1"
                ? points.Closed(typeof(Order), nameof(Order.OfValueTask), called.DeclaringType)
            : null;
    }

    /// <summary>A call that the platform orders before and after, and not at a point.</summary>
    public static bool IsOrdered(MethodReference called) => Ordered.Contains(called.DeclaringType.GetElementType().FullName) ||
        called is { Name: "ContinueWith", DeclaringType.Namespace: "System.Threading.Tasks" };

    public static bool MayBeOfStack(GenericParameter parameter) => ((int)parameter.Attributes & AllowsStackOnly) != 0;

    /// <summary>Whether values of the type are never where another thread could see them, or cannot be told apart.</summary>
    public static bool IsOfStack(TypeReference type) => type switch
    {
        GenericParameter parameter => MayBeOfStack(parameter),
        PointerType or FunctionPointerType or ByReferenceType => true,
        ArrayType => false,
        _ => Resolve(type) is { } found && Has(found, nameof(IsByRefLikeAttribute)),
    };

    public static bool IsReadOnly(TypeReference structure) => Resolve(structure) is { } found && Has(found, nameof(IsReadOnlyAttribute));

    private static bool IsOfPlatform(string name) =>
        name.StartsWith("System.", StringComparison.Ordinal) || name.StartsWith("xunit.", StringComparison.Ordinal);

    private bool IsShared(FieldReference field) => _known.TryGetValue(field.FullName, out bool known) ? known
        : _known[field.FullName] = !_readOnly.Contains(field.FullName) && field.FieldType is not (PointerType or FunctionPointerType or ByReferenceType) &&
            Resolve(field.DeclaringType) is { } type && type.Fields.FirstOrDefault(f => f.Name == field.Name) is { IsInitOnly: false } found &&
            !IsOfOneThread(found, type) && !meant.Contains(Named(found)) &&
            !type.Interfaces.Any(static i => i.InterfaceType.Name == nameof(IAsyncStateMachine));

    /// <summary>Whether a field is that of a thread, of a structure of the stack, or one that the compiler keeps a delegate in.</summary>
    public static bool IsOfOneThread(FieldDefinition field, TypeDefinition type) =>
        (field.IsStatic && (type.Name.StartsWith('<') || Has(field, nameof(ThreadStaticAttribute)))) || Has(type, nameof(IsByRefLikeAttribute));

    private static bool IsOf(Instruction access, string what) =>
        access.OpCode.Name is ['l' or 's', 't' or 'd', .. var rest] && rest.StartsWith(what, StringComparison.Ordinal);

    /// <summary>A field, or the property that it is of, as its author knows it.</summary>
    private static string Named(FieldDefinition field) =>
        $"{field.DeclaringType.Name.Split('`')[0]}.{(field.Name is ['<', .. var name] ? name.Split('>')[0] : field.Name)}";

    public static TypeDefinition? Resolve(TypeReference type)
    {
        try
        {
            return type.Resolve();
        }
        catch (AssemblyResolutionException)
        {
            return null;
        }
    }

    public static bool Has(ICustomAttributeProvider member, string attribute) => member.CustomAttributes.Any(a => a.AttributeType.Name == attribute);
}

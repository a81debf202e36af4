using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>
/// Where stores are seen late, or data races are looked for: lets accesses to memory go through <see cref="Stores"/>, and tells it of operations on objects.
/// </summary>
internal sealed class AccessRewriter(ModuleDefinition module, PointCalls points, bool storeBuffers, RaceRewriter? races, ConflictRewriter? conflicts)
{
    private readonly HashSet<string> _fields = [.. module.GetTypes().SelectMany(static t => t.Methods).Where(static m => m.HasBody).SelectMany(Addressed)];

    public RaceRewriter? Races => races;

    public ConflictRewriter? Conflicts => conflicts;

    /// <summary>How to change a plain access without a point of its own: null if it stays as it is.</summary>
    public Action<ILProcessor, string>? ChangeOf(Instruction access, FieldReference field) =>
        conflicts is not null ? conflicts.ChangeOf(access, field)
        : !CanBeAddressed(access, field) ? null
        : storeBuffers && _fields.Contains(field.FullName) ? (il, site) => points.Field(il, access, nameof(Stores.ReadPlain), nameof(Stores.WritePlain), site)
        : races?.IsChecked(access, field) is true ? (il, site) => points.Field(il, access, nameof(Stores.ReadAtOnce), nameof(Stores.WriteAtOnce), site)
        : null;

    /// <summary>Changes an access that names no field: to an element of an array, or through a reference.</summary>
    public void Nameless(ILProcessor il, Instruction access, string site)
    {
        string name = (RaceRewriter.IsRead(access), RaceRewriter.IsElement(access)) switch
        {
            (true, true) => nameof(Stores.ReadElement),
            (false, true) => nameof(Stores.WriteElement),
            (true, false) => nameof(Stores.ReadThrough),
            (false, false) => nameof(Stores.WriteThrough),
        };
        MethodReference call = points.Closed(typeof(Stores), name, RaceRewriter.TypeOf(access, module));
        (access.OpCode, access.Operand) = (OpCodes.Ldstr, site);
        il.InsertAfter(access, il.Create(OpCodes.Call, call));
    }

    /// <summary>Changes a call of <c>Volatile.Read</c> or <c>Volatile.Write</c>.</summary>
    public void Volatile(Instruction call)
    {
        var called = (MethodReference)call.Operand;
        if (called.Parameters.Count > 0)
        {
            TypeReference type = points.TypeOf(((ByReferenceType)called.Parameters[0].ParameterType).ElementType, called);
            call.Operand = points.Closed(typeof(Stores), called.Name == "Read" ? nameof(Stores.Read) : nameof(Stores.Write), type);
        }
    }

    /// <summary>What comes before a call of <c>Interlocked</c>: the address is below the other arguments.</summary>
    public void Atomic(ILProcessor il, Instruction call)
    {
        var called = (MethodReference)call.Operand;
        if (called.Name == "MemoryBarrierProcessWide")
        {
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Stores), nameof(Stores.BarrierProcessWide))));
        }

        if (called.Parameters.Count == 0)
        {
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Order), nameof(Order.Awake))));
            return;
        }

        points.Tell(il, call, points.Of(typeof(Stores), nameof(Stores.Touch)), argument: 1);
    }

    private static IEnumerable<string> Addressed(MethodDefinition method)
    {
        bool writes = method.Body.Instructions.Any(static i =>
            i.Operand is MethodReference { Name: "Write", DeclaringType.FullName: "System.Threading.Volatile" });
        return writes
            ? method.Body.Instructions.Where(static i => i.OpCode.Code is Code.Ldflda or Code.Ldsflda).Select(static i => ((FieldReference)i.Operand).FullName)
            : [];
    }

    /// <summary>Whether what the field is read from is an object or an address, and not a structure on the stack.</summary>
    public static bool CanBeAddressed(Instruction access, FieldReference field) =>
        access.OpCode.Code is Code.Stfld or Code.Stsfld or Code.Ldsfld ||
        (access.OpCode.Code == Code.Ldfld && (!field.DeclaringType.IsValueType || IsAddress(Instructions.Before(access))));

    private static bool IsAddress(Instruction? before) => before?.OpCode.Code switch
    {
        Code.Ldflda or Code.Ldsflda or Code.Ldloca or Code.Ldarga or Code.Ldelema => true,
        Code.Ldloc => ((VariableDefinition)before.Operand).VariableType.IsByReference,
        Code.Ldarg => ((ParameterDefinition)before.Operand).ParameterType.IsByReference,
        Code.Call or Code.Callvirt => ((MethodReference)before.Operand).ReturnType.IsByReference,
        _ => false,
    };
}

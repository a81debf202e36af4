using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>Where states are compared: tells of each access and call what it conflicts with. What is not known conflicts with all of its kind.</summary>
internal sealed class ConflictRewriter(ModuleDefinition module, PointCalls points)
{
    private readonly HashSet<string> _readOnly = RaceRewriter.ReadOnlyFields(module);
    private readonly Dictionary<string, bool> _known = [];

    /// <summary>Whether others may change the field while a thread goes on to its next point.</summary>
    public bool IsTracked(FieldReference field) =>
        _known.TryGetValue(field.FullName, out bool known) ? known : _known[field.FullName] = !_readOnly.Contains(field.FullName) && IsShared(field);

    /// <summary>How to change an access to a field that has no point; null if it stays as it is.</summary>
    public Action<ILProcessor, string>? ChangeOf(Instruction access, FieldReference field) =>
        !IsTracked(field) ? null
        : field.FieldType is not (PointerType or FunctionPointerType or ByReferenceType) && AccessRewriter.CanBeAddressed(access, field)
            ? (il, site) => points.Field(il, access, nameof(Stores.ReadAtOnce), nameof(Stores.WriteAtOnce), site)
        : IsOfStack(Instructions.Before(access)) ? null
        : (il, _) => InsertBefore(il, access, nameof(Order.All));

    /// <summary>Whether an access that names no field is one that others may see.</summary>
    public static bool IsTracked(Instruction access) => RaceRewriter.IsNameless(access, static type => !RaceRewriter.IsOfStack(type));

    /// <summary>How to change an instruction whose access cannot be told: null if it has none.</summary>
    public Action<ILProcessor, string>? ChangeOfOther(Instruction instruction) => instruction.OpCode.Code switch
    {
        Code.Initobj when !IsLocal(Producer(instruction, 0)) && instruction.Operand is TypeReference type && !RaceRewriter.IsOfStack(type) &&
            !(type is GenericParameter parameter && RaceRewriter.MayBeOfStack(parameter)) => (_, _) =>
            (instruction.OpCode, instruction.Operand) = (OpCodes.Call, points.Closed(typeof(Stores), nameof(Stores.Clear), type)),
        Code.Cpobj or Code.Cpblk or Code.Initblk => (il, _) => InsertBefore(il, instruction, nameof(Order.Lose)),
        _ when instruction.Previous?.OpCode.Code == Code.Volatile && RaceRewriter.IsThroughReference(instruction) =>
            (il, _) => InsertBefore(il, instruction.Previous, nameof(Order.Lose)),
        _ => null,
    };

    /// <summary>How to tell of a call of the platform; null if there is nothing to tell.</summary>
    public Action<ILProcessor, Instruction>? HookOf(Instruction instruction, MethodReference called)
    {
        List<Action<ILProcessor, Instruction>> hooks = [];
        AddAddresses(hooks, instruction, called);
        string? shared = SharedCalls.Of(called);
        if (HookOfReceiver(called, shared) is { } hook)
        {
            hooks.Add((il, call) => points.Tell(il, call, hook));
        }
        else if (shared is not null)
        {
            AddShared(hooks, instruction, called, shared);
        }

        return hooks.Count == 0 ? null : (il, call) => hooks.ForEach(h => h(il, call));
    }

    /// <summary>A call into an assembly that is left alone, and not of the platform.</summary>
    public void Foreign(ILProcessor il, Instruction call) => Surround(il, call, nameof(Order.Unordered), nameof(Order.EndUnknownCall));

    /// <summary>What is told of the object alone that a call looks at, such as a task or a token; null if that is not all.</summary>
    private MethodReference? HookOfReceiver(MethodReference called, string? shared)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        string name = type.FullName;
        return name is "System.Threading.Tasks.Task" or "System.Threading.Tasks.Task`1" && shared == nameof(Order.Unordered) && called.HasThis &&
            called.Name.StartsWith("get_", StringComparison.Ordinal) ? points.Of(typeof(Order), nameof(Order.Look))
            : RaceRewriter.HookOfStructure(called, points) is { } ofStructure ? ofStructure
            : Platform.IsAwaiter(type) && called.Name == "get_IsCompleted" ? points.Closed(typeof(Waits), nameof(Waits.Look), called.DeclaringType)
            : name == "System.Threading.CancellationToken" && called.Name is "get_IsCancellationRequested" or "ThrowIfCancellationRequested"
                ? points.Of(typeof(Order), nameof(Order.OfToken))
            : name == "System.Threading.CancellationTokenSource" && called.Name == "get_IsCancellationRequested"
                ? points.Of(typeof(Order), nameof(Order.OfSource))
            : null;
    }

    private void AddShared(List<Action<ILProcessor, Instruction>> hooks, Instruction instruction, MethodReference called, string shared)
    {
        bool hasReceiver = called.HasThis && instruction.OpCode.Code != Code.Newobj && !called.DeclaringType.IsValueType &&
            instruction.Previous?.OpCode.Code != Code.Constrained;
        bool callsBack = SharedCalls.CallsBack(called);
        bool isOfReceiver = shared is nameof(Order.Look) or nameof(Order.Change) or nameof(Order.Complete);
        if (isOfReceiver && hasReceiver)
        {
            hooks.Add((il, call) => points.Tell(il, call, points.Of(typeof(Order), shared), after: callsBack));
        }

        string? before = !isOfReceiver ? shared : hasReceiver ? null : nameof(Order.Unordered);
        string? after = !callsBack ? null : before == nameof(Order.Unordered) ? nameof(Order.EndUnknownCall) : nameof(Order.EndCall);
        hooks.Add((il, call) => Surround(il, call, before, after));
    }

    private void Surround(ILProcessor il, Instruction call, string? before, string? after)
    {
        if (before is not null)
        {
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Order), before)));
        }

        if (after is not null)
        {
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Order), nameof(Order.BeginCall))));
            il.InsertAfter(Instructions.Last(call), il.Create(OpCodes.Call, points.Of(typeof(Order), after)));
        }
    }

    /// <summary>Memory that a call is given the address of, and the structure that it is called on.</summary>
    private void AddAddresses(List<Action<ILProcessor, Instruction>> hooks, Instruction instruction, MethodReference called)
    {
        int count = called.Parameters.Count;
        for (int i = 0; i < count; i++)
        {
            int argument = i + 1;
            if (called.Parameters[i].ParameterType is ByReferenceType reference && !IsLocal(Producer(instruction, count - argument)) &&
                points.TypeOf(reference.ElementType, called) is { } type && !RaceRewriter.IsOfStack(type))
            {
                MethodReference at = points.Closed(typeof(Order), nameof(Order.At), type);
                hooks.Add((il, call) => points.Tell(il, call, at, SharedCalls.CallsBack(called), argument, new ByReferenceType(type)));
            }
        }

        TypeReference owner = called.DeclaringType;
        if (called.HasThis && owner.IsValueType && instruction.OpCode.Code != Code.Newobj && instruction.Previous?.OpCode.Code != Code.Constrained &&
            !IsLocal(Producer(instruction, count)) && !RaceRewriter.IsOfStack(owner))
        {
            bool reads = RaceRewriter.IsReadOnly(owner) || called.Name.StartsWith("get_", StringComparison.Ordinal);
            MethodReference at = points.Closed(typeof(Order), reads && called.Name != ".ctor" ? nameof(Order.See) : nameof(Order.At), owner);
            hooks.Add((il, call) => points.Tell(il, call, at));
        }
    }

    /// <summary>Whether an address is that of a variable, or of a field that nobody else changes.</summary>
    private bool IsLocal(Instruction? producer) => producer?.OpCode.Code switch
    {
        Code.Ldloca or Code.Ldarga => true,
        Code.Ldflda => !IsTracked((FieldReference)producer.Operand) ||
            (((FieldReference)producer.Operand).DeclaringType.IsValueType && IsLocal(Producer(producer, 0))),
        Code.Ldsflda => !IsTracked((FieldReference)producer.Operand),
        _ => false,
    };

    /// <summary>What has put the value on the stack that is as deep as given, before an instruction; null if that is not plain.</summary>
    private static Instruction? Producer(Instruction at, int depth)
    {
        for (Instruction? i = at.Previous; i is not null; i = i.Previous)
        {
            if (i.OpCode.OpCodeType == OpCodeType.Prefix || i.OpCode.Code == Code.Nop)
            {
                continue;
            }

            (int pops, int pushes) = Effect(i);
            if (pops < 0)
            {
                return null;
            }

            if (depth < pushes)
            {
                return i;
            }

            depth += pops - pushes;
        }

        return null;
    }

    private static (int Pops, int Pushes) Effect(Instruction instruction)
    {
        if (instruction.Operand is MethodReference called && instruction.OpCode.Code is Code.Call or Code.Callvirt or Code.Newobj)
        {
            bool isNew = instruction.OpCode.Code == Code.Newobj;
            return (called.Parameters.Count + (called.HasThis && !isNew ? 1 : 0), isNew || called.ReturnType.MetadataType != MetadataType.Void ? 1 : 0);
        }

        if (instruction.OpCode.FlowControl is not (FlowControl.Next or FlowControl.Meta))
        {
            return (-1, 0);
        }

        int pops = instruction.OpCode.StackBehaviourPop switch
        {
            StackBehaviour.Pop0 => 0,
            StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
            StackBehaviour.Pop1_pop1 or StackBehaviour.Popi_pop1 or StackBehaviour.Popi_popi or StackBehaviour.Popref_pop1 or StackBehaviour.Popref_popi => 2,
            _ => -1,
        };
        return instruction.OpCode.StackBehaviourPush switch
        {
            StackBehaviour.Push0 => (pops, 0),
            StackBehaviour.Push1 or StackBehaviour.Pushi or StackBehaviour.Pushi8 or StackBehaviour.Pushr4 or StackBehaviour.Pushr8 or StackBehaviour.Pushref
                => (pops, 1),
            _ => (-1, 0),
        };
    }

    private void InsertBefore(ILProcessor il, Instruction instruction, string hook)
    {
        il.Move(instruction);
        (instruction.OpCode, instruction.Operand) = (OpCodes.Call, points.Of(typeof(Order), hook));
    }

    /// <summary>Whether a field is read from a structure that is a value of the stack.</summary>
    private static bool IsOfStack(Instruction? before) => before?.OpCode.Code switch
    {
        Code.Ldloc or Code.Ldarg or Code.Ldfld or Code.Ldsfld or Code.Ldobj or Code.Unbox_Any or Code.Ldelem_Any => true,
        Code.Call or Code.Callvirt => !((MethodReference)before.Operand).ReturnType.IsByReference,
        _ => false,
    };

    private static bool IsShared(FieldReference field) =>
        RaceRewriter.Resolve(field.DeclaringType) is not { } type || type.Fields.FirstOrDefault(f => f.Name == field.Name) is not { } found ||
            (!found.IsInitOnly && !found.IsLiteral && !RaceRewriter.IsOfOneThread(found, type) && !IsStateOfMethod(type));

    /// <summary>What an async method keeps for itself. That of an iterator is read by whoever gets its elements, too.</summary>
    private static bool IsStateOfMethod(TypeDefinition type) =>
        type.Interfaces.Any(static i => i.InterfaceType.Name == nameof(IAsyncStateMachine)) &&
        !type.Interfaces.Any(static i => i.InterfaceType.Name.StartsWith("IAsyncEnumera", StringComparison.Ordinal));
}

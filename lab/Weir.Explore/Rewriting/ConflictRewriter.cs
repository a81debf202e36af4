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
    public Action<ILProcessor, string>? ChangeOf(Instruction access, FieldReference field, MethodDefinition method, AccessRewriter accesses)
    {
        if (!IsTracked(field))
        {
            return null;
        }

        if (field.FieldType is not (PointerType or FunctionPointerType or ByReferenceType) && AccessRewriter.CanBeAddressed(access, field, method))
        {
            return (il, _) => accesses.Field(il, access, nameof(Stores.ReadField), nameof(Stores.WriteField), null);
        }

        return IsOfStack(AccessRewriter.Before(access)) ? null : (il, _) => InsertBefore(il, access, nameof(Order.All));
    }

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
    public Action<ILProcessor, Instruction>? HookOf(Instruction instruction, MethodReference called, AccessRewriter accesses)
    {
        List<Action<ILProcessor, Instruction>> hooks = [];
        AddAddresses(hooks, instruction, called, accesses);
        SharedState state = SharedCalls.Of(called);
        TypeReference type = called.DeclaringType.GetElementType();
        string name = type.FullName;
        bool isTask = name is "System.Threading.Tasks.Task" or "System.Threading.Tasks.Task`1";
        bool reads = called.HasThis && called.Name.StartsWith("get_", StringComparison.Ordinal);
        if (isTask && reads && state == SharedState.Unknown)
        {
            OnReceiver(points.Of(typeof(Order), nameof(Order.Look)));
        }
        else if (RaceRewriter.HookOfStructure(called, points) is { } ofStructure)
        {
            OnReceiver(ofStructure);
        }
        else if (Platform.IsAwaiter(type) && called.Name == "get_IsCompleted")
        {
            OnReceiver(points.Closed(typeof(Waits), nameof(Waits.Look), called.DeclaringType));
        }
        else if (name == "System.Threading.CancellationToken" && called.Name is "get_IsCancellationRequested" or "ThrowIfCancellationRequested")
        {
            OnReceiver(points.Of(typeof(Order), nameof(Order.OfToken)));
        }
        else if (name == "System.Threading.CancellationTokenSource" && called.Name == "get_IsCancellationRequested")
        {
            OnReceiver(points.Of(typeof(Order), nameof(Order.OfSource)));
        }
        else if (state != SharedState.None)
        {
            AddState(hooks, instruction, called, accesses, state);
        }

        return hooks.Count == 0 ? null : (il, call) => hooks.ForEach(h => h(il, call));

        void OnReceiver(MethodReference hook) => hooks.Add((il, call) => accesses.OnReceiver(il, call, hook));
    }

    /// <summary>A call into an assembly that is left alone, and not of the platform.</summary>
    public Action<ILProcessor, Instruction> Foreign() => (il, call) => Surround(il, call, nameof(Order.Unordered), nameof(Order.EndUnknownCall));

    private void AddState(
        List<Action<ILProcessor, Instruction>> hooks, Instruction instruction, MethodReference called, AccessRewriter accesses, SharedState state)
    {
        bool hasReceiver = called.HasThis && instruction.OpCode.Code != Code.Newobj && !called.DeclaringType.IsValueType &&
            instruction.Previous?.OpCode.Code != Code.Constrained;
        bool callsBack = SharedCalls.CallsBack(called);
        string? receiver = !hasReceiver ? null : state switch
        {
            SharedState.Looks => nameof(Order.Look),
            SharedState.Uses => nameof(Order.Change),
            SharedState.EndsTask => nameof(Order.Complete),
            _ => null,
        };
        if (receiver is not null)
        {
            hooks.Add((il, call) => accesses.OnReceiver(il, call, points.Of(typeof(Order), receiver), after: callsBack));
        }

        string? before = receiver is not null ? null : state switch
        {
            SharedState.Enumerates => nameof(Order.Enumerate),
            SharedState.ReadsAll => nameof(Order.All),
            SharedState.Aliases => nameof(Order.Alias),
            SharedState.ChangesInstruments => nameof(Order.UseInstruments),
            SharedState.UsesInstruments => nameof(Order.LookAtInstruments),
            _ => nameof(Order.Unordered),
        };
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
            il.InsertAfter(AccessRewriter.WithoutPrefixes(call), il.Create(OpCodes.Call, points.Of(typeof(Order), after)));
        }
    }

    /// <summary>Memory that a call is given the address of, and the structure that it is called on.</summary>
    private void AddAddresses(List<Action<ILProcessor, Instruction>> hooks, Instruction instruction, MethodReference called, AccessRewriter accesses)
    {
        int count = called.Parameters.Count;
        for (int i = 0; i < count; i++)
        {
            int from = i + 1;
            if (called.Parameters[i].ParameterType is ByReferenceType reference && !IsLocal(Producer(instruction, count - from)) &&
                accesses.TypeOf(reference.ElementType, called) is { } type && !RaceRewriter.IsOfStack(type))
            {
                hooks.Add((il, call) => At(il, call, called, from, type, accesses));
            }
        }

        TypeReference owner = called.DeclaringType;
        if (called.HasThis && owner.IsValueType && instruction.OpCode.Code != Code.Newobj && instruction.Previous?.OpCode.Code != Code.Constrained &&
            !IsLocal(Producer(instruction, count)) && !RaceRewriter.IsOfStack(owner))
        {
            bool reads = RaceRewriter.IsReadOnly(owner) || called.Name.StartsWith("get_", StringComparison.Ordinal);
            hooks.Add((il, call) => accesses.OnReceiver(
                il, call, points.Closed(typeof(Order), reads && called.Name != ".ctor" ? nameof(Order.See) : nameof(Order.At), owner)));
        }
    }

    private void At(ILProcessor il, Instruction call, MethodReference called, int from, TypeReference type, AccessRewriter accesses)
    {
        MethodReference at = points.Closed(typeof(Order), nameof(Order.At), type);
        if (!SharedCalls.CallsBack(called))
        {
            accesses.Below(il, call, called, from, il.Create(OpCodes.Dup), il.Create(OpCodes.Call, at));
            return;
        }

        VariableDefinition place = AccessRewriter.Local(il, new ByReferenceType(type));
        accesses.Below(
            il, call, called, from, il.Create(OpCodes.Dup), il.Create(OpCodes.Stloc, place), il.Create(OpCodes.Dup), il.Create(OpCodes.Call, at));
        Instruction end = AccessRewriter.WithoutPrefixes(call);
        il.InsertAfter(end, il.Create(OpCodes.Call, at));
        il.InsertAfter(end, il.Create(OpCodes.Ldloc, place));
    }

    /// <summary>Whether an address is that of a variable, or of a field that nobody else changes.</summary>
    private bool IsLocal(Instruction? producer) => producer?.OpCode.Code switch
    {
        Code.Ldloca or Code.Ldloca_S or Code.Ldarga or Code.Ldarga_S => true,
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
        // What jumps to the instruction comes to what is inserted.
        Instruction moved = il.Create(OpCodes.Nop);
        (moved.OpCode, moved.Operand) = (instruction.OpCode, instruction.Operand);
        (instruction.OpCode, instruction.Operand) = (OpCodes.Call, points.Of(typeof(Order), hook));
        il.InsertAfter(instruction, moved);
    }

    /// <summary>Whether a field is read from a structure that is a value of the stack.</summary>
    private static bool IsOfStack(Instruction? before) => before?.OpCode.Code switch
    {
        Code.Ldloc_0 or Code.Ldloc_1 or Code.Ldloc_2 or Code.Ldloc_3 or Code.Ldloc or Code.Ldloc_S => true,
        Code.Ldarg_0 or Code.Ldarg_1 or Code.Ldarg_2 or Code.Ldarg_3 or Code.Ldarg or Code.Ldarg_S => true,
        Code.Ldfld or Code.Ldsfld or Code.Ldobj or Code.Unbox_Any or Code.Ldelem_Any => true,
        Code.Call or Code.Callvirt => !((MethodReference)before.Operand).ReturnType.IsByReference,
        _ => false,
    };

    private static bool IsShared(FieldReference field)
    {
        TypeDefinition? type = RaceRewriter.Resolve(field.DeclaringType);
        FieldDefinition? found = type?.Fields.FirstOrDefault(f => f.Name == field.Name);
        return found is null || type is null || (!found.IsInitOnly && !found.IsLiteral &&
            !RaceRewriter.IsOfOneThread(found, type) && !IsStateOfMethod(type));
    }

    /// <summary>What an async method keeps for itself. That of an iterator is read by whoever gets its elements, too.</summary>
    private static bool IsStateOfMethod(TypeDefinition type) =>
        type.Interfaces.Any(static i => i.InterfaceType.Name == nameof(IAsyncStateMachine)) &&
        !type.Interfaces.Any(static i => i.InterfaceType.Name.StartsWith("IAsyncEnumera", StringComparison.Ordinal));
}

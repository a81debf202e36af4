using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>
/// Where stores are seen late, or data races are looked for: lets accesses to memory go through <see cref="Stores"/>, and tells it of operations on objects.
/// </summary>
/// <remarks>Null are: which fields have stores that are seen late, if there are none; what looks for races, and what compares states, if nothing does.</remarks>
internal sealed class AccessRewriter(
    ModuleDefinition module, PointCalls points, Func<FieldReference, bool>? isLateField, RaceRewriter? races, ConflictRewriter? conflicts)
{
    // Of methods that call Volatile.Write: the fields whose address they take, and whether that of an element is taken.
    private readonly HashSet<string> _fields = [.. Addresses(module).Select(static i => i.Operand).OfType<FieldReference>().Select(static f => f.FullName)];
    private readonly bool _elements = Addresses(module).Any(static i => i.OpCode.Code == Code.Ldelema);

    // Of the method that is rewritten: the addresses that Volatile and Interlocked are given.
    private readonly HashSet<Instruction> _given = [];

    public RaceRewriter? Races => races;
    public ConflictRewriter? Conflicts => conflicts;

    /// <summary>How to change a plain access without a point of its own: null if it stays as it is.</summary>
    public Action<ILProcessor, string>? ChangeOf(Instruction access, FieldReference field) =>
        conflicts is not null ? conflicts.ChangeOf(access, field)
        : !CanBeAddressed(access, field) ? null
        : isLateField is not null && _fields.Contains(field.FullName)
            ? (il, site) => points.Field(il, access, nameof(Stores.ReadPlain), nameof(Stores.WritePlain), site, IfFixed(access, nameof(Stores.WritePlainOf)))
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
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Effects), nameof(Effects.OrderWakeUp))));
            return;
        }

        points.Tell(il, call, points.Of(typeof(Stores), nameof(Stores.Touch)), argument: 1);
    }

    /// <summary>Before a method is rewritten.</summary>
    public void Begin(MethodBody body)
    {
        _given.Clear();
        foreach (Instruction call in isLateField is null ? [] : body.Instructions)
        {
            if (call.Operand is MethodReference { DeclaringType.FullName: "System.Threading.Volatile" or "System.Threading.Interlocked" } called &&
                ConflictRewriter.Producer(call, called.Parameters.Count - 1) is { } address)
            {
                _given.Add(address);
            }
        }
    }

    /// <summary>Whether an access that names no field goes through <see cref="Stores"/>.</summary>
    public bool IsChecked(Instruction access) => races?.IsChecked(access) is true ||
        ((conflicts is not null || (isLateField is not null && _elements && RaceRewriter.IsElement(access))) && ConflictRewriter.IsTracked(access));

    /// <summary>How to change an instruction that takes an address. What is stored there may be seen late; used otherwise, it has what this thread has stored.</summary>
    public Action<ILProcessor, string>? ChangeOfAddress(Instruction address)
    {
        if (isLateField is null)
        {
            return null;
        }

        var field = address.Operand as FieldReference;
        bool isLate = field is not null && (_fields.Contains(field.FullName) || field.FieldType is RequiredModifierType || isLateField(field));
        bool isPlace = field is null ? _elements && address.Previous?.OpCode.Code != Code.Readonly
            : isLate && (address.OpCode.Code == Code.Ldsflda ? IsFixed(field) : !field.DeclaringType.IsValueType);

        // Of a structure, it leads to a field of it, most often.
        bool isUsed = isLate && !_given.Contains(address) && (!field!.FieldType.IsValueType || field.FieldType.IsPrimitive);
        return !isUsed && !isPlace ? null : (il, _) =>
        {
            Instruction taken = address;
            if (isUsed)
            {
                taken = il.Move(address);
                (address.OpCode, address.Operand) = (OpCodes.Call, points.Of(typeof(Stores), nameof(Stores.Flush)));
            }

            if (isPlace)
            {
                points.Known(il, taken);
            }
        };
    }

    /// <summary>Whether a static field does not move: it is no structure, which may be in an object, and not of a thread.</summary>
    private static bool IsFixed(FieldReference field) => (!field.FieldType.IsValueType || field.FieldType.IsPrimitive) &&
        RaceRewriter.Resolve(field.DeclaringType) is { } type && type.Fields.FirstOrDefault(f => f.Name == field.Name) is { } found &&
        !RaceRewriter.Has(found, nameof(ThreadStaticAttribute));

    /// <summary>What writes a field whose place is told; null for a static one that may move.</summary>
    public static string? IfFixed(Instruction access, string writeOf) =>
        access.OpCode.Code == Code.Stsfld && !IsFixed((FieldReference)access.Operand) ? null : writeOf;

    /// <summary>How to change a call that may read or write many elements.</summary>
    public Action<ILProcessor, Instruction>? ChangeOfMemory(MethodReference called) =>
        isLateField is not null && _elements && called.DeclaringType.FullName is "System.Array" or "System.MemoryExtensions" or "System.Buffer"
            ? (il, call) => il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Stores), nameof(Stores.Flush))))
            : null;

    private static IEnumerable<Instruction> Addresses(ModuleDefinition module) =>
        module.GetTypes().SelectMany(static t => t.Methods).Where(static m => m.HasBody && m.Body.Instructions.Any(static i =>
            i.Operand is MethodReference { Name: "Write", DeclaringType.FullName: "System.Threading.Volatile" }))
        .SelectMany(static m => m.Body.Instructions).Where(static i => i.OpCode.Code is Code.Ldflda or Code.Ldsflda or Code.Ldelema);

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

/// <summary>Where states are compared: tells of each access and call what it conflicts with. What is not known conflicts with all of its kind.</summary>
internal sealed class ConflictRewriter(ModuleDefinition module, PointCalls points)
{
    private readonly HashSet<string> _readOnly = RaceRewriter.ReadOnlyFields(module);
    private readonly Dictionary<string, bool> _known = [];

    /// <summary>Whether others may change the field while a thread runs to its next point.</summary>
    public bool IsTracked(FieldReference field) =>
        _known.TryGetValue(field.FullName, out bool known) ? known : _known[field.FullName] = !_readOnly.Contains(field.FullName) && IsShared(field);

    /// <summary>How to change an access to a field that has no point; null if it stays as it is.</summary>
    public Action<ILProcessor, string>? ChangeOf(Instruction access, FieldReference field) =>
        !IsTracked(field) ? null
        : field.FieldType is not (PointerType or FunctionPointerType or ByReferenceType) && AccessRewriter.CanBeAddressed(access, field)
            ? (il, site) => points.Field(il, access, nameof(Stores.ReadAtOnce), nameof(Stores.WriteAtOnce), site)
        : IsOfStack(Instructions.Before(access)) ? null
        : (il, _) => InsertBefore(il, access, nameof(Effects.ReadEverything));

    /// <summary>Whether an access that names no field is one that others may see.</summary>
    public static bool IsTracked(Instruction access) => RaceRewriter.IsNameless(access, static type => !RaceRewriter.IsOfStack(type));

    /// <summary>How to change an instruction whose access cannot be told: null if it has none.</summary>
    public Action<ILProcessor, string>? ChangeOfOther(Instruction instruction) => instruction.OpCode.Code switch
    {
        Code.Initobj when !IsLocal(Producer(instruction, 0)) && instruction.Operand is TypeReference type && !RaceRewriter.IsOfStack(type) &&
            !(type is GenericParameter parameter && RaceRewriter.MayBeOfStack(parameter)) => (_, _) =>
            (instruction.OpCode, instruction.Operand) = (OpCodes.Call, points.Closed(typeof(Stores), nameof(Stores.Clear), type)),
        Code.Cpobj or Code.Cpblk or Code.Initblk => (il, _) => InsertBefore(il, instruction, nameof(Effects.LoseTrack)),
        _ when instruction.Previous?.OpCode.Code == Code.Volatile && RaceRewriter.IsThroughReference(instruction) =>
            (il, _) => InsertBefore(il, instruction.Previous, nameof(Effects.LoseTrack)),
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
    public void Foreign(ILProcessor il, Instruction call) => Surround(il, call, nameof(Effects.WritePlatform), nameof(Effects.EndUnknownCallback));

    /// <summary>What is told of the object alone that a call looks at, such as a task or a token; null if that is not all.</summary>
    private MethodReference? HookOfReceiver(MethodReference called, string? shared)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        string name = type.FullName;
        return name is "System.Threading.Tasks.Task" or "System.Threading.Tasks.Task`1" && shared == nameof(Effects.WritePlatform) && called.HasThis &&
            called.Name.StartsWith("get_", StringComparison.Ordinal) ? points.Of(typeof(Effects), nameof(Effects.Read))
            : RaceRewriter.HookOfStructure(called, points) is { } ofStructure ? ofStructure
            : Platform.IsAwaiter(type) && called.Name == "get_IsCompleted" ? points.Closed(typeof(Waits), nameof(Waits.Look), called.DeclaringType)
            : name == "System.Threading.CancellationToken" && called.Name is "get_IsCancellationRequested" or "ThrowIfCancellationRequested"
                ? points.Of(typeof(Effects), nameof(Effects.ObserveToken))
            : name == "System.Threading.CancellationTokenSource" && called.Name == "get_IsCancellationRequested"
                ? points.Of(typeof(Effects), nameof(Effects.ObserveSource))
            : null;
    }

    private void AddShared(List<Action<ILProcessor, Instruction>> hooks, Instruction instruction, MethodReference called, string shared)
    {
        bool hasReceiver = called.HasThis && instruction.OpCode.Code != Code.Newobj && !called.DeclaringType.IsValueType &&
            instruction.Previous?.OpCode.Code != Code.Constrained;
        bool callsBack = SharedCalls.CallsBack(called);
        bool isOfReceiver = shared is nameof(Effects.Read) or nameof(Effects.Write) or nameof(Effects.CompleteSource);
        if (isOfReceiver && hasReceiver)
        {
            hooks.Add((il, call) => points.Tell(il, call, points.Of(typeof(Effects), shared), after: callsBack));
        }

        string? before = !isOfReceiver ? shared : hasReceiver ? null : nameof(Effects.WritePlatform);
        string? after = !callsBack ? null : before == nameof(Effects.WritePlatform) ? nameof(Effects.EndUnknownCallback) : nameof(Effects.EndCallback);
        hooks.Add((il, call) => Surround(il, call, before, after));
    }

    private void Surround(ILProcessor il, Instruction call, string? before, string? after)
    {
        if (before is not null)
        {
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Effects), before)));
        }

        if (after is not null)
        {
            il.InsertBefore(call, il.Create(OpCodes.Call, points.Of(typeof(Effects), nameof(Effects.BeginCallback))));
            il.InsertAfter(Instructions.Last(call), il.Create(OpCodes.Call, points.Of(typeof(Effects), after)));
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
                MethodReference at = points.Closed(typeof(Effects), nameof(Effects.WriteAt), type);
                hooks.Add((il, call) => points.Tell(il, call, at, SharedCalls.CallsBack(called), argument, new ByReferenceType(type)));
            }
        }

        TypeReference owner = called.DeclaringType;
        if (called.HasThis && owner.IsValueType && instruction.OpCode.Code != Code.Newobj && instruction.Previous?.OpCode.Code != Code.Constrained &&
            !IsLocal(Producer(instruction, count)) && !RaceRewriter.IsOfStack(owner))
        {
            bool reads = RaceRewriter.IsReadOnly(owner) || called.Name.StartsWith("get_", StringComparison.Ordinal);
            MethodReference at = points.Closed(typeof(Effects), reads && called.Name != ".ctor" ? nameof(Effects.ReadAt) : nameof(Effects.WriteAt), owner);
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
    public static Instruction? Producer(Instruction at, int depth)
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
        (instruction.OpCode, instruction.Operand) = (OpCodes.Call, points.Of(typeof(Effects), hook));
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

    /// <summary>The fields of an async method's state machine. That of an iterator is read by whoever gets its elements, too.</summary>
    private static bool IsStateOfMethod(TypeDefinition type) =>
        type.Interfaces.Any(static i => i.InterfaceType.Name == nameof(IAsyncStateMachine)) &&
        !type.Interfaces.Any(static i => i.InterfaceType.Name.StartsWith("IAsyncEnumera", StringComparison.Ordinal));
}

/// <summary>Which calls of the platform share what with other threads. What is not in these lists may share anything.</summary>
internal static class SharedCalls
{
    /// <summary>Values, what cannot be changed, what is of one thread, and what calls the program under test alone.</summary>
    private static readonly HashSet<string> Nothing =
    [
        "System.String", "System.Object", "System.Boolean", "System.Char", "System.Byte", "System.SByte", "System.Int16", "System.UInt16", "System.Int32",
        "System.UInt32", "System.Int64", "System.UInt64", "System.Int128", "System.UInt128", "System.IntPtr", "System.UIntPtr", "System.Single",
        "System.Double", "System.Decimal", "System.Half", "System.Enum", "System.ValueType", "System.Math", "System.MathF", "System.TimeSpan",
        "System.DateTime", "System.DateTimeOffset", "System.DateOnly", "System.TimeOnly", "System.Guid", "System.Index", "System.Range", "System.Uri",
        "System.Version", "System.Type", "System.RuntimeTypeHandle", "System.Delegate", "System.MulticastDelegate", "System.Convert", "System.BitConverter",
        "System.HashCode", "System.IDisposable", "System.IAsyncDisposable", "System.IEquatable`1", "System.IComparable", "System.IComparable`1",
        "System.IFormattable", "System.ISpanFormattable", "System.IFormatProvider", "System.AsyncCallback", "System.StringComparer", "System.TimeProvider",
        "System.AppContext", "System.OperatingSystem", "System.Attribute", "System.Activator", "System.IProgress`1", "System.IObserver`1",
        "System.IObservable`1", "System.DBNull", "System.Array/EmptyArray`1", "System.Buffers.ArrayPool`1", "System.Buffers.Binary.BinaryPrimitives",
        "System.Collections.Generic.KeyValuePair", "System.Collections.Generic.KeyValuePair`2", "System.Collections.Generic.EqualityComparer`1",
        "System.Collections.Generic.IEqualityComparer`1", "System.Collections.Generic.IComparer`1", "System.Collections.Generic.Comparer`1",
        "System.Collections.Generic.ReferenceEqualityComparer", "System.Collections.Generic.IAsyncEnumerable`1",
        "System.Collections.Generic.IAsyncEnumerator`1", "System.Diagnostics.Debug", "System.Diagnostics.TagList", "System.Diagnostics.Tracing.EventSource",
        "System.Text.Encoding", "System.Text.CompositeFormat", "System.Threading.ITimer", "System.Threading.AsyncLocal`1", "System.Threading.Barrier",
        "System.Threading.CountdownEvent", "System.Threading.ExecutionContext",
        "System.Threading.AsyncFlowControl", "System.Threading.CancellationToken", "System.Threading.SynchronizationContext",
        "System.Threading.IThreadPoolWorkItem", "System.Threading.SendOrPostCallback", "System.Threading.ContextCallback", "System.Threading.WaitCallback",
        "System.Threading.TimerCallback", "System.Threading.ThreadStart", "System.Threading.ParameterizedThreadStart", "System.Threading.Timeout",
        "System.Threading.Tasks.ValueTask", "System.Threading.Tasks.ValueTask`1", "System.Threading.Tasks.Sources.IValueTaskSource",
        "System.Threading.Tasks.Sources.IValueTaskSource`1", "System.Threading.Tasks.TaskAsyncEnumerableExtensions",
    ];

    /// <summary>Types that share nothing, by the beginnings of their names.</summary>
    private static readonly string[] NothingIn =
    [
        "System.Action", "System.Func`", "System.Comparison`", "System.Predicate`", "System.Converter`", "System.EventHandler", "System.Tuple",
        "System.ValueTuple", "System.Nullable", "System.Globalization.", "System.Numerics.", "System.Reflection.", "System.Runtime.Intrinsics.",
        "System.Runtime.ExceptionServices.", "System.Runtime.Versioning.", "System.Runtime.CompilerServices.", "System.Collections.Frozen.",
        "System.Collections.Immutable.", "System.Threading.Channels.", "System.Threading.Tasks.Dataflow.",
    ];

    /// <summary>Structures of the stack, whose elements are read and written through references, but for methods that do that themselves.</summary>
    private static readonly HashSet<string> Spans =
    [
        "System.Span`1", "System.ReadOnlySpan`1", "System.Memory`1", "System.ReadOnlyMemory`1", "System.ArraySegment`1", "System.MemoryExtensions",
        "System.Span`1/Enumerator", "System.ReadOnlySpan`1/Enumerator", "System.Runtime.InteropServices.MemoryMarshal",
        "System.Runtime.CompilerServices.Unsafe",
    ];

    private static readonly string[] OfSpans =
    [
        ".ctor", "get_Item", "get_Length", "get_IsEmpty", "get_Span", "get_Empty", "get_Array", "get_Offset", "get_Count", "get_Current", "Slice",
        "op_Implicit", "GetEnumerator", "MoveNext", "AsSpan", "AsMemory", "GetReference", "GetArrayDataReference", "GetPinnableReference", "CreateSpan",
        "CreateReadOnlySpan", "Cast", "AsBytes", "As", "AsRef", "Add", "AddByteOffset", "AreSame", "SizeOf", "IsNullRef", "NullRef", "SkipInit", "TryGetArray",
    ];

    /// <summary>Their objects share nothing beyond themselves.</summary>
    private static readonly HashSet<string> Objects =
    [
        "System.Collections.Generic.List`1", "System.Collections.Generic.Dictionary`2", "System.Collections.Generic.HashSet`1",
        "System.Collections.Generic.Queue`1", "System.Collections.Generic.Stack`1", "System.Collections.Generic.LinkedList`1",
        "System.Collections.Generic.SortedDictionary`2", "System.Collections.Generic.SortedSet`1", "System.Collections.Generic.SortedList`2",
        "System.Collections.Generic.PriorityQueue`2", "System.Collections.BitArray", "System.Text.StringBuilder", "System.Random",
        "System.Collections.Concurrent.ConcurrentQueue`1", "System.Collections.Concurrent.ConcurrentStack`1", "System.Collections.Concurrent.ConcurrentBag`1",
        "System.Collections.Concurrent.ConcurrentDictionary`2", "System.Runtime.CompilerServices.ConditionalWeakTable`2",
    ];

    private static readonly HashSet<string> LooksOnly =
    [
        "get_Count", "get_Item", "get_IsEmpty", "get_Length", "get_Chars", "get_Keys", "get_Values", "get_Comparer", "get_First", "get_Last", "get_Min",
        "get_Max", "Contains", "ContainsKey", "ContainsValue", "TryGetValue", "TryPeek", "Peek", "IndexOf", "Find", "FindIndex", "FindAll", "Exists",
        "TrueForAll", "ToArray", "ToString", "GetEnumerator", "GetHashCode", "Equals",
    ];

    /// <summary>What they are called on leads to an object that they read.</summary>
    private static readonly HashSet<string> Readers =
    [
        "System.Linq.Enumerable", "System.Linq.AsyncEnumerable", "System.Collections.IEnumerator", "System.Collections.IEnumerable",
        "System.Collections.Generic.IEnumerator`1", "System.Collections.Generic.IEnumerable`1", "System.Collections.Generic.IReadOnlyCollection`1",
        "System.Collections.Generic.IReadOnlyList`1", "System.Collections.Generic.IReadOnlyDictionary`2", "System.Collections.Generic.LinkedListNode`1",
        "System.Linq.IGrouping`2",
    ];

    /// <summary>Members that share nothing, of types that do.</summary>
    private static readonly HashSet<string> NothingOf =
    [
        "System.Array::Empty", "System.Array::get_Length", "System.Array::GetLength", "System.Environment::get_NewLine",
        "System.Environment::GetEnvironmentVariable", "System.GC::KeepAlive", "System.GC::SuppressFinalize", "System.Lazy`1::.ctor",
        "System.Threading.CancellationTokenSource::.ctor", "System.Threading.CancellationTokenRegistration::get_Token",
        "System.Threading.CancellationTokenRegistration::Equals", "System.Threading.Tasks.Task::get_CompletedTask", "System.Threading.Tasks.Task::get_Factory",
        "System.Threading.Tasks.Task::get_AsyncState", "System.Threading.Tasks.Task::get_CreationOptions", "System.Threading.Tasks.Task::FromResult",
        "System.Threading.Tasks.Task::FromException", "System.Threading.Tasks.Task::FromCanceled", "System.Threading.Tasks.Task::ConfigureAwait",
        "System.Threading.Tasks.Task::GetAwaiter", "System.Threading.Tasks.Task`1::ConfigureAwait", "System.Threading.Tasks.Task`1::GetAwaiter",
        "System.Threading.Tasks.Task`1::get_Factory", "System.Threading.Tasks.TaskScheduler::.ctor", "System.Threading.Tasks.TaskScheduler::get_Id",
    ];

    private static readonly Dictionary<string, string> Members = new()
    {
        ["System.Object::MemberwiseClone"] = nameof(Effects.ReadEverything),
        ["System.Object::ToString"] = nameof(Effects.ReadPlatform),
        ["System.Object::Equals"] = nameof(Effects.ReadPlatform),
        ["System.Object::GetHashCode"] = nameof(Effects.ReadPlatform),
        ["System.Activator::CreateInstance"] = nameof(Effects.WritePlatform),
        ["System.Runtime.CompilerServices.RuntimeHelpers::GetSubArray"] = nameof(Effects.ReadPlatform),
        ["System.Collections.Immutable.ImmutableInterlocked::*"] = nameof(Effects.WritePlatform),
        ["System.Threading.CancellationTokenSource::get_Token"] = nameof(Effects.Read),
        ["System.Diagnostics.Metrics.Meter::.ctor"] = nameof(Effects.WriteInstruments),
        ["System.Diagnostics.Metrics.Meter::Dispose"] = nameof(Effects.WriteInstruments),
    };

    /// <summary>The method of <see cref="Effects"/> that tells what a call may read and change that other threads see; null for nothing.</summary>
    public static string? Of(MethodReference called)
    {
        TypeReference declaring = called.DeclaringType;
        string type = declaring.GetElementType().FullName;
        if (declaring is ArrayType)
        {
            return called.Name switch { "Get" => nameof(Effects.Read), "Set" => nameof(Effects.Write), ".ctor" => null, _ => nameof(Effects.ExposeReferences) };
        }

        if (Members.TryGetValue($"{type}::{called.Name}", out string? of) || Members.TryGetValue($"{type}::*", out of) ||
            NothingOf.Contains($"{type}::{called.Name}"))
        {
            return of;
        }

        if (type == "System.Runtime.InteropServices.CollectionsMarshal")
        {
            return nameof(Effects.ExposeReferences);
        }

        if (type.StartsWith("System.Threading.Tasks.TaskCompletionSource", StringComparison.Ordinal))
        {
            return called.Name is ".ctor" or "get_Task" ? null : nameof(Effects.CompleteSource);
        }

        if (type.StartsWith("System.Diagnostics.Metrics.", StringComparison.Ordinal))
        {
            return type.EndsWith("Listener", StringComparison.Ordinal) || called.Name.StartsWith("Create", StringComparison.Ordinal)
                ? nameof(Effects.WriteInstruments)
                : nameof(Effects.ReadInstruments);
        }

        bool isGivenMany = called.Parameters.Any(static p => IsMany(p.ParameterType));
        if (Spans.Contains(type))
        {
            return OfSpans.Contains(called.Name) ? null : nameof(Effects.WritePlatform);
        }

        if (Objects.Contains(type))
        {
            return called.Name == ".ctor" ? isGivenMany ? nameof(Effects.ReadPlatform) : null
                : isGivenMany || !called.HasThis ? nameof(Effects.WritePlatform)
                : LooksOnly.Contains(called.Name) ? nameof(Effects.Read)
                : nameof(Effects.Write);
        }

        return Readers.Contains(type) || (IsPartOfCollection(type) && !type.Contains("/AlternateLookup`", StringComparison.Ordinal)) ? nameof(Effects.ReadPlatform)
            : !SharesNothing(type) ? nameof(Effects.WritePlatform)
            : isGivenMany ? nameof(Effects.ReadPlatform)
            : null;
    }

    /// <summary>Whether a call may call the program under test, with what it is given.</summary>
    public static bool CallsBack(MethodReference called) => called.Parameters.Any(static p =>
        p.ParameterType.Name.Split('`')[0] is "Func" or "Action" or "Predicate" or "Comparison" or "Converter" or "IEnumerable" or "IComparer" or
            "CreateValueCallback");

    private static bool SharesNothing(string type) => Nothing.Contains(type) || type.EndsWith("Exception", StringComparison.Ordinal) ||
        type.EndsWith("Attribute", StringComparison.Ordinal) || type.EndsWith("EventArgs", StringComparison.Ordinal) ||
        (Array.Exists(NothingIn, p => type.StartsWith(p, StringComparison.Ordinal)) && !type.EndsWith("/Builder", StringComparison.Ordinal));

    /// <summary>An enumerator, or the keys or values of a dictionary.</summary>
    private static bool IsPartOfCollection(string type) => type.StartsWith("System.Collections.", StringComparison.Ordinal) &&
        !type.StartsWith("System.Collections.Immutable.", StringComparison.Ordinal) && type.Contains('/', StringComparison.Ordinal);

    private static bool IsMany(TypeReference type) => type is ArrayType || type.Name.Split('`')[0] is
        "Span" or "ReadOnlySpan" or "Memory" or "ReadOnlyMemory" or "IEnumerable" or "ICollection" or "IList" or "IDictionary" or "IReadOnlyList" or
        "IReadOnlyCollection" or "IReadOnlyDictionary" or "List" or "Dictionary" or "HashSet" or "StringBuilder" or "ConcurrentDictionary";
}

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
            ? nameof(Effects.Acquire)
            : called.Name is ".ctor" or "get_Task" ? null
            : name.StartsWith("System.Threading.Tasks.TaskCompletionSource", StringComparison.Ordinal) ? nameof(Effects.CompleteSource)
            : name.StartsWith("System.Collections.Concurrent.Concurrent", StringComparison.Ordinal) && type.DeclaringType is null ? nameof(Effects.AcquireRelease)
            : null;

        // What a dictionary calls to make a value comes before that value is there.
        bool calls = called.Parameters.Any(static p => p.ParameterType.Name.StartsWith("Func`", StringComparison.Ordinal));
        return hook is null ? null : (il, call) => points.Tell(il, call, points.Of(typeof(Effects), hook), after: calls);
    }

    /// <summary>What is called on an awaited structure, or the builder of an async method, before a call of it; null if it is another call.</summary>
    public static MethodReference? HookOfStructure(MethodReference called, PointCalls points)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        bool reads = called.HasThis && called.Name.StartsWith("get_", StringComparison.Ordinal);
        return Platform.IsBuilder(type) && called.Name is "SetResult" or "SetException"
            ? points.Closed(typeof(Builders), nameof(Builders.ReleaseTask), called.DeclaringType)
            : reads && type.FullName is "System.Threading.Tasks.ValueTask" or "System.Threading.Tasks.ValueTask`1"
                ? points.Closed(typeof(Effects), nameof(Effects.AcquireValueTask), called.DeclaringType)
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

    /// <summary>Whether a field is that of a thread, of a structure of the stack, or one in which the compiler caches a delegate.</summary>
    public static bool IsOfOneThread(FieldDefinition field, TypeDefinition type) =>
        (field.IsStatic && (type.Name.StartsWith('<') || Has(field, nameof(ThreadStaticAttribute)))) || Has(type, nameof(IsByRefLikeAttribute));

    private static bool IsOf(Instruction access, string what) =>
        access.OpCode.Name is ['l' or 's', 't' or 'd', .. var rest] && rest.StartsWith(what, StringComparison.Ordinal);

    /// <summary>A field, or the property that it is of, as its author knows it.</summary>
    public static string Named(FieldDefinition field) =>
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

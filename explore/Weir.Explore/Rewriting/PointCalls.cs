using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>The methods that rewritten code calls beside the replacements, and how it calls them.</summary>
internal sealed class PointCalls(ModuleDefinition module)
{
    private readonly Dictionary<(Type, string), MethodReference> _known = [];

    public MethodReference NewAction { get; } = module.ImportReference(typeof(Action).GetConstructors()[0]);

    public MethodReference this[string name] => Of(typeof(Points), name);

    /// <summary>A generic method of one parameter.</summary>
    public MethodReference Closed(Type type, string name, TypeReference argument) => Closed(Of(type, name), [argument]);
    public MethodReference Of(Type type, string name) =>
        _known.TryGetValue((type, name), out MethodReference? known) ? known : _known[(type, name)] = module.ImportReference(type.GetMethod(name));

    /// <summary>A method for these arguments; one that is not generic as it is.</summary>
    public static MethodReference Closed(MethodReference method, TypeReference[] arguments) =>
        arguments.Length == 0 ? method : With(new GenericInstanceMethod(method), arguments);

    /// <summary>A type as it is where a member of it, or with it, is used.</summary>
    public TypeReference TypeOf(TypeReference type, MemberReference used) => type switch
    {
        RequiredModifierType modified => TypeOf(modified.ElementType, used),
        GenericParameter { Type: GenericParameterType.Type } parameter when used.DeclaringType is GenericInstanceType owner =>
            owner.GenericArguments[parameter.Position],
        GenericParameter { Type: GenericParameterType.Method } parameter when used is GenericInstanceMethod method =>
            method.GenericArguments[parameter.Position],
        ByReferenceType reference => new ByReferenceType(TypeOf(reference.ElementType, used)),
        ArrayType array => new ArrayType(TypeOf(array.ElementType, used), array.Rank),
        GenericInstanceType instance => With(new GenericInstanceType(instance.ElementType), instance.GenericArguments.Select(a => TypeOf(a, used))),
        _ => module.ImportReference(type),
    };

    /// <summary>
    /// Lets an access to a field go through methods of <see cref="Stores"/>, which get the site if there is one. What writes may be one that is told the object.
    /// </summary>
    public void Field(ILProcessor il, Instruction access, string read, string write, string? site, string? writeOf = null)
    {
        var field = (FieldReference)access.Operand;
        TypeReference type = TypeOf(field.FieldType, field);
        bool writes = access.OpCode.Code is Code.Stfld or Code.Stsfld;
        bool isStatic = access.OpCode.Code is Code.Ldsfld or Code.Stsfld;
        bool isTold = writes && writeOf is not null && (isStatic || !field.DeclaringType.IsValueType);
        OpCode address = isStatic ? OpCodes.Ldsflda : OpCodes.Ldflda;
        il.InsertAfter(access, il.Create(OpCodes.Call, Closed(typeof(Stores), isTold ? writeOf! : writes ? write : read, type)));
        if (site is not null)
        {
            il.InsertAfter(access, il.Create(OpCodes.Ldstr, site));
        }

        if (!writes)
        {
            access.OpCode = address;
            return;
        }

        VariableDefinition value = il.Local(type);
        il.InsertAfter(access, il.Create(OpCodes.Ldloc, value));
        il.InsertAfter(access, il.Create(address, field));
        if (isTold)
        {
            il.InsertAfter(access, isStatic ? il.Create(OpCodes.Ldnull) : il.Create(OpCodes.Dup));
        }

        (access.OpCode, access.Operand) = (OpCodes.Stloc, value);
    }

    /// <summary>Tells in which object the place is whose address an instruction takes.</summary>
    public void Known(ILProcessor il, Instruction address)
    {
        Code code = address.OpCode.Code;
        var field = address.Operand as FieldReference;
        TypeReference type = field is null ? (TypeReference)address.Operand : TypeOf(field.FieldType, field);
        VariableDefinition owner = il.Local(module.TypeSystem.Object);
        VariableDefinition place = il.Local(new ByReferenceType(type));
        Instruction moved = il.Move(address);
        if (code == Code.Ldelema)
        {
            // The index is above the array.
            VariableDefinition index = il.Local(module.TypeSystem.IntPtr);
            (address.OpCode, address.Operand) = (OpCodes.Stloc, index);
            il.InsertBefore(moved, il.Create(OpCodes.Dup));
            il.InsertBefore(moved, il.Create(OpCodes.Stloc, owner));
            il.InsertBefore(moved, il.Create(OpCodes.Ldloc, index));
        }
        else
        {
            (address.OpCode, address.Operand) = (code == Code.Ldsflda ? OpCodes.Ldnull : OpCodes.Dup, null);
            il.InsertBefore(moved, il.Create(OpCodes.Stloc, owner));
        }

        Instruction[] after =
        [
            il.Create(OpCodes.Stloc, place), il.Create(OpCodes.Ldloc, owner), il.Create(OpCodes.Ldloc, place),
            il.Create(OpCodes.Call, Closed(typeof(Stores), nameof(Stores.Known), type)),
        ];
        foreach (Instruction next in after.Reverse())
        {
            il.InsertAfter(moved, next);
        }
    }

    /// <summary>Calls a hook before a call, and after it too if asked for, with one of its arguments, of a type: 0 is what it is called on.</summary>
    public void Tell(ILProcessor il, Instruction first, MethodReference hook, bool after = false, int argument = 0, TypeReference? type = null)
    {
        Instruction call = Instructions.Last(first);
        var called = (MethodReference)call.Operand;
        VariableDefinition[] above = [.. called.Parameters.Skip(argument).Select(p => il.Local(TypeOf(p.ParameterType, called)))];
        foreach (VariableDefinition other in above.Reverse())
        {
            il.InsertBefore(first, il.Create(OpCodes.Stloc, other));
        }

        if (after)
        {
            VariableDefinition told = il.Local(type ?? module.TypeSystem.Object);
            il.InsertBefore(first, il.Create(OpCodes.Dup));
            il.InsertBefore(first, il.Create(OpCodes.Stloc, told));
            il.InsertAfter(call, il.Create(OpCodes.Call, hook));
            il.InsertAfter(call, il.Create(OpCodes.Ldloc, told));
        }

        il.InsertBefore(first, il.Create(OpCodes.Dup));
        il.InsertBefore(first, il.Create(OpCodes.Call, hook));
        foreach (VariableDefinition other in above)
        {
            il.InsertBefore(first, il.Create(OpCodes.Ldloc, other));
        }
    }

    private static T With<T>(T generic, IEnumerable<TypeReference> arguments)
        where T : IGenericInstance
    {
        foreach (TypeReference argument in arguments)
        {
            generic.GenericArguments.Add(argument);
        }

        return generic;
    }
}

/// <summary>What stands around an instruction.</summary>
internal static class Instructions
{
    /// <summary>The first prefix of a call or an access; itself if it has none.</summary>
    public static Instruction First(Instruction instruction)
    {
        while (instruction.Previous is { OpCode.OpCodeType: OpCodeType.Prefix } previous)
        {
            instruction = previous;
        }

        return instruction;
    }

    /// <summary>What is before a call or an access and its prefixes, such as that of a volatile one.</summary>
    public static Instruction? Before(Instruction instruction) => First(instruction).Previous;

    /// <summary>The call or access behind its prefixes.</summary>
    public static Instruction Last(Instruction first)
    {
        while (first.OpCode.OpCodeType == OpCodeType.Prefix)
        {
            first = first.Next;
        }

        return first;
    }

    /// <summary>The first instruction of a call, whose prefixes are removed.</summary>
    public static Instruction WithoutPrefixes(this ILProcessor il, Instruction first)
    {
        while (first.OpCode.OpCodeType == OpCodeType.Prefix)
        {
            first = first.Next;
            il.Remove(first.Previous);
        }

        return first;
    }

    /// <summary>Makes room where an instruction is, and where jumps to it come to. Returns what is the instruction now.</summary>
    public static Instruction Move(this ILProcessor il, Instruction instruction)
    {
        Instruction moved = il.Create(OpCodes.Nop);
        (moved.OpCode, moved.Operand) = (instruction.OpCode, instruction.Operand);
        il.InsertAfter(instruction, moved);
        return moved;
    }

    public static VariableDefinition Local(this ILProcessor il, TypeReference type)
    {
        VariableDefinition local = new(type);
        il.Body.Variables.Add(local);
        il.Body.InitLocals = true;
        return local;
    }
}

/// <summary>Which assemblies are rewritten, which calls of the platform are points, and which could wait for something that is not controlled.</summary>
internal static class Platform
{
    private static readonly string[] LeftAlone =
        ["System", "Microsoft", "xunit", "nunit", "Mono", "netstandard", "mscorlib", "WindowsBase", "testhost", "MSTest", "FsCheck", "FSharp", "Weir.Explore"];

    /// <summary>
    /// What is rewritten although its name begins like that of one that is not: its async methods await what the test does, or it is the platform's own code
    /// for several threads.
    /// </summary>
    private static readonly string[] Rewritten =
        ["xunit.assert", "xunit.v3.assert", "System.Threading", "System.Threading.Channels", "System.Threading.Tasks.Dataflow"];

    /// <summary>Every call is a point, and one piece.</summary>
    internal static readonly HashSet<string> Points =
    [
        "System.Threading.Interlocked", "System.Threading.Volatile", "System.Threading.Tasks.TaskCompletionSource",
        "System.Threading.Tasks.TaskCompletionSource`1", "System.Threading.CancellationTokenSource", "System.Threading.CancellationTokenRegistration",
        "System.Collections.Concurrent.ConcurrentQueue`1", "System.Collections.Concurrent.ConcurrentStack`1", "System.Collections.Concurrent.ConcurrentBag`1",
        "System.Collections.Concurrent.ConcurrentDictionary`2", "System.Collections.Immutable.ImmutableInterlocked", "System.Threading.Tasks.TaskFactory",
    ];

    /// <summary>Single members that are points.</summary>
    private static readonly HashSet<string> PointMembers =
    [
        "System.Threading.Tasks.Task::get_IsCompleted", "System.Threading.Tasks.Task::get_IsCompletedSuccessfully", "System.Threading.Tasks.Task::get_Status",
        "System.Threading.Tasks.Task::get_IsFaulted", "System.Threading.Tasks.Task::get_IsCanceled", "System.Threading.Tasks.Task::get_Exception",
        "System.Threading.CancellationToken::get_IsCancellationRequested", "System.Threading.CancellationToken::ThrowIfCancellationRequested",
        "System.Lazy`1::get_IsValueCreated",
    ];

    private static readonly HashSet<string> Looks = ["get_IsEmpty", "TryPeek", "TryGetValue", "ContainsKey"];

    /// <summary>Reads that nobody else changes.</summary>
    private static readonly HashSet<string> NoPoints = ["get_Task", "get_Token", "get_Completion", "MemoryBarrierProcessWide"];

    /// <summary>Types that could wait, none of whose members is known.</summary>
    private static readonly HashSet<string> UnknownTypes =
    [
        "System.Threading.ReaderWriterLock", "System.Threading.ReaderWriterLockSlim", "System.Threading.Mutex", "System.Threading.Semaphore",
        "System.Threading.SpinLock", "System.Threading.Tasks.Parallel", "System.Timers.Timer", "System.Collections.Concurrent.BlockingCollection`1",
        "System.Diagnostics.Process", "System.Threading.Overlapped", "System.Threading.RegisteredWaitHandle", "System.Linq.ParallelEnumerable", "System.Progress`1",
        "System.Threading.Tasks.ConcurrentExclusiveSchedulerPair",
    ];

    private static readonly HashSet<string> UnknownMembers =
    [
        "System.GC::WaitForPendingFinalizers", "System.Threading.Tasks.TaskAsyncEnumerableExtensions::ToBlockingEnumerable",
        "System.Threading.Tasks.TaskFactory::ContinueWhenAll", "System.Threading.Tasks.TaskFactory`1::ContinueWhenAll",
        "System.Threading.Tasks.TaskFactory::ContinueWhenAny", "System.Threading.Tasks.TaskFactory`1::ContinueWhenAny",
        "System.Threading.Tasks.TaskFactory::FromAsync", "System.Threading.Tasks.TaskFactory`1::FromAsync",
        "System.Collections.Immutable.ImmutableInterlocked::Update", "System.Collections.Immutable.ImmutableInterlocked::GetOrAdd",
        "System.Collections.Immutable.ImmutableInterlocked::AddOrUpdate",
    ];

    /// <summary>
    /// Members that the platform has alone, of types that the model stands in for: they wait for nobody, and what they do is seen by nobody else, or by what
    /// the model has. Null for all members that the model has not. What is not here is refused.
    /// </summary>
    private static readonly Dictionary<string, string[]?> Harmless = new()
    {
        ["System.IDisposable"] = null,
        ["System.AppDomain"] = null,
        ["System.Environment"] = null,
        ["System.Random"] = null,
        ["System.DateTime"] = null,
        ["System.DateTimeOffset"] = null,
        ["System.TimeProvider"] = null,
        ["System.Runtime.CompilerServices.AsyncTaskMethodBuilder"] = null,
        ["System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1"] = null,
        ["System.Runtime.CompilerServices.AsyncVoidMethodBuilder"] = null,
        ["System.Collections.Concurrent.ConcurrentDictionary`2"] = [".ctor", "get_Comparer"],
        ["System.Collections.Concurrent.ConcurrentQueue`1"] = [".ctor"],
        ["System.Collections.Concurrent.ConcurrentStack`1"] = [".ctor"],
        ["System.Lazy`1"] = [".ctor"],
        ["System.WeakReference`1"] = null,
        ["System.Threading.SynchronizationContext"] =
            [".ctor", "CreateCopy", "OperationCompleted", "OperationStarted", "Send", "SetSynchronizationContext", "get_Current"],
        ["System.Threading.WaitHandle"] = ["Close", "Dispose"],
        ["System.Threading.ThreadPool"] = ["GetMinThreads", "GetMaxThreads", "SetMinThreads", "SetMaxThreads"],
        ["System.Threading.CancellationToken"] =
            [".ctor", "get_None", "get_CanBeCanceled", "Equals", "op_Equality", "op_Inequality"],
        ["System.Threading.CancellationTokenRegistration"] = ["get_Token", "Equals", "op_Equality", "op_Inequality"],
        ["System.Threading.CancellationTokenSource"] = [".ctor", "get_Token"],
        ["System.Threading.Tasks.Task"] =
        [
            ".ctor", "ConfigureAwait", "Dispose", "FromCanceled", "FromException", "FromResult", "GetAwaiter", "Yield", "get_AsyncState", "get_CompletedTask",
            "get_CreationOptions", "get_CurrentId", "get_Factory", "get_Id",
        ],
        ["System.Threading.Tasks.Task`1"] = [".ctor", "ConfigureAwait", "GetAwaiter", "get_Factory"],
        ["System.Threading.Tasks.TaskFactory"] =
            [".ctor", "get_CancellationToken", "get_ContinuationOptions", "get_CreationOptions", "get_Scheduler"],
        ["System.Threading.Tasks.TaskFactory`1"] =
            [".ctor", "get_CancellationToken", "get_ContinuationOptions", "get_CreationOptions", "get_Scheduler"],
        ["System.Threading.Tasks.TaskScheduler"] =
        [
            ".ctor", "FromCurrentSynchronizationContext", "get_Id", "get_MaximumConcurrencyLevel", "QueueTask", "TryDequeue", "TryExecuteTask",
            "TryExecuteTaskInline", "GetScheduledTasks",
        ],
    };

    /// <summary>Whether an assembly is not rewritten: the platform, and what runs tests.</summary>
    public static bool IsLeftAlone(string name) =>
        !Rewritten.Contains(name) && Array.Exists(LeftAlone, p => name == p || name.StartsWith(p + ".", StringComparison.OrdinalIgnoreCase));
    public static bool IsBuilder(TypeReference type) => IsCompilers(type) && type.Name.Contains("MethodBuilder", StringComparison.Ordinal);
    public static bool IsAwaiter(TypeReference type) => IsCompilers(type.DeclaringType ?? type) && type.Name.Contains("Awaiter", StringComparison.Ordinal);

    public static bool IsPoint(MethodReference called)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        return called.Name != ".ctor" && !NoPoints.Contains(called.Name) &&
            (Points.Contains((type.DeclaringType ?? type).FullName) || PointMembers.Contains($"{Base(type.FullName)}::{called.Name}") ||
                (called.Name == "get_IsCompleted" && IsAwaiter(type) && type.Name != nameof(YieldAwaitable.YieldAwaiter)));
    }

    /// <summary>Whether a call may be one of a concurrent collection, by an interface that it has.</summary>
    public static bool IsOfCollections(MethodReference called) => called.Name != "get_Current" && called.DeclaringType.GetElementType() is
        { Namespace: "System.Collections" or "System.Collections.Generic" or "System.Collections.Concurrent", Name: ['I', >= 'A' and <= 'Z', ..] };

    /// <summary>Whether a point reads alone: it is no fence.</summary>
    public static bool IsLook(MethodReference called)
    {
        string type = called.DeclaringType.GetElementType().FullName;
        return PointMembers.Contains($"{Base(type)}::{called.Name}") || called.Name == "get_IsCompleted" ||
            (type.StartsWith("System.Collections.Concurrent.", StringComparison.Ordinal) && Looks.Contains(called.Name));
    }

    /// <summary>
    /// Whether a call, which the model has not, is refused: it could wait, or is of a type that the model stands in for and not known to be harmless. With a
    /// provider or a scheduler given, the platform's methods go through that.
    /// </summary>
    /// <param name="called">What is called.</param>
    /// <param name="isKnownType">Whether the model stands in for members of the type.</param>
    /// <param name="isKnownName">Whether the model stands in for members of that name, with other parameters.</param>
    public static bool IsRefused(MethodReference called, bool isKnownType, bool isKnownName)
    {
        string type = called.DeclaringType.GetElementType().FullName;
        string member = $"{type}::{called.Name}";
        return UnknownTypes.Contains(type) || (!IsGivenWhere(called) && (UnknownMembers.Contains(member) ||
            (isKnownType && !IsHarmless(type, called.Name) && (isKnownName || !IsPoint(called)))));
    }

    private static bool IsHarmless(string type, string name) => Harmless.TryGetValue(type, out string[]? names) && (names is null || names.Contains(name));

    private static bool IsGivenWhere(MethodReference called) => called.Name != "FromAsync" &&
        called.Parameters.TakeLast(2).Any(static p => p.ParameterType.Name is "TimeProvider" or "TaskScheduler");

    private static bool IsCompilers(TypeReference type) => type.Namespace == "System.Runtime.CompilerServices";

    private static string Base(string type) => type == "System.Threading.Tasks.Task`1" ? "System.Threading.Tasks.Task" : type;
}

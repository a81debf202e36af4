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

    /// <summary>Lets an access to a field go through methods of <see cref="Stores"/>, which get the site if there is one.</summary>
    public void Field(ILProcessor il, Instruction access, string read, string write, string? site)
    {
        var field = (FieldReference)access.Operand;
        TypeReference type = TypeOf(field.FieldType, field);
        bool writes = access.OpCode.Code is Code.Stfld or Code.Stsfld;
        OpCode address = access.OpCode.Code is Code.Ldsfld or Code.Stsfld ? OpCodes.Ldsflda : OpCodes.Ldflda;
        il.InsertAfter(access, il.Create(OpCodes.Call, Closed(typeof(Stores), writes ? write : read, type)));
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
        (access.OpCode, access.Operand) = (OpCodes.Stloc, value);
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
    private static readonly string[] Rewritten = ["xunit.assert", "xunit.v3.assert", "System.Threading.Channels", "System.Threading.Tasks.Dataflow"];

    /// <summary>Every call is a point, and one piece.</summary>
    private static readonly HashSet<string> Points =
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
        "System.Threading.Tasks.Task::get_IsFaulted", "System.Threading.Tasks.Task::get_IsCanceled",
        "System.Threading.CancellationToken::get_IsCancellationRequested", "System.Threading.CancellationToken::ThrowIfCancellationRequested",
        "System.Lazy`1::get_IsValueCreated",
    ];

    /// <summary>Reads that nobody else changes.</summary>
    private static readonly HashSet<string> NoPoints = ["get_Task", "get_Token", "get_Completion", "MemoryBarrierProcessWide"];

    private static readonly HashSet<string> UnknownTypes =
    [
        "System.Threading.Barrier", "System.Threading.CountdownEvent", "System.Threading.ReaderWriterLock", "System.Threading.ReaderWriterLockSlim",
        "System.Threading.Mutex", "System.Threading.Semaphore", "System.Threading.EventWaitHandle", "System.Threading.AutoResetEvent",
        "System.Threading.ManualResetEvent", "System.Threading.WaitHandle", "System.Threading.SpinLock", "System.Threading.PeriodicTimer",
        "System.Threading.Tasks.Parallel", "System.Timers.Timer", "System.Collections.Concurrent.BlockingCollection`1", "System.Diagnostics.Process",
        "System.Threading.Overlapped", "System.Linq.ParallelEnumerable",
    ];

    private static readonly HashSet<string> UnknownMembers =
    [
        "System.Threading.Tasks.Task::Wait", "System.Threading.Tasks.Task::WaitAll", "System.Threading.Tasks.Task::WaitAny",
        "System.Threading.Tasks.Task::WhenAll", "System.Threading.Tasks.Task::WhenAny", "System.Threading.Tasks.Task::WhenEach",
        "System.Threading.Tasks.Task::Delay", "System.Threading.Tasks.Task::Run", "System.Threading.Tasks.Task::Start",
        "System.Threading.ThreadPool::RegisterWaitForSingleObject", "System.Threading.ThreadPool::UnsafeRegisterWaitForSingleObject",
        "System.Threading.ThreadPool::QueueUserWorkItem", "System.Threading.ThreadPool::UnsafeQueueUserWorkItem",
        "System.Threading.CancellationToken::get_WaitHandle", "System.Threading.Monitor::Enter", "System.Threading.Monitor::Wait",
        "System.Threading.Tasks.TaskExtensions::Unwrap", "System.GC::WaitForPendingFinalizers",
    ];

    /// <summary>Members of tasks and their factories that are known with some parameters.</summary>
    private static readonly string[] UnlessGivenWhere = ["ContinueWith", "StartNew", "WaitAsync", "ContinueWhenAll", "ContinueWhenAny"];

    /// <summary>Whether an assembly is not rewritten: the platform, and what runs tests.</summary>
    public static bool IsLeftAlone(string name) =>
        !Rewritten.Contains(name) && Array.Exists(LeftAlone, p => name == p || name.StartsWith(p + ".", StringComparison.OrdinalIgnoreCase));

    public static bool IsBuilder(TypeReference type) => IsCompilers(type) && type.Name.Contains("MethodBuilder", StringComparison.Ordinal);

    public static bool IsAwaiter(TypeReference type) => IsCompilers(type.DeclaringType ?? type) && type.Name.Contains("Awaiter", StringComparison.Ordinal);

    public static bool IsPoint(MethodReference called)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        return called.Name != ".ctor" && !NoPoints.Contains(called.Name) &&
            (Points.Contains(type.FullName) || PointMembers.Contains($"{Base(type.FullName)}::{called.Name}") ||
                (called.Name == "get_IsCompleted" && IsAwaiter(type) && type.Name != nameof(YieldAwaitable.YieldAwaiter)));
    }

    /// <summary>Whether a call could wait. With a provider or a scheduler given, the platform's methods go through that.</summary>
    public static bool IsUnknown(MethodReference called)
    {
        string type = called.DeclaringType.GetElementType().FullName;
        if (UnknownTypes.Contains(type))
        {
            return true;
        }

        string last = called.Parameters.Count > 0 ? called.Parameters[^1].ParameterType.Name : "";
        string lastButOne = called.Parameters.Count > 1 ? called.Parameters[^2].ParameterType.Name : "";
        bool isGivenWhere = last is "TimeProvider" or "TaskScheduler" || lastButOne is "TimeProvider";
        return !isGivenWhere && (UnknownMembers.Contains($"{Base(type)}::{called.Name}") ||
            (type.StartsWith("System.Threading.Tasks.Task", StringComparison.Ordinal) && UnlessGivenWhere.Contains(called.Name)));
    }

    private static bool IsCompilers(TypeReference type) => type.Namespace == "System.Runtime.CompilerServices";

    private static string Base(string type) => type == "System.Threading.Tasks.Task`1" ? "System.Threading.Tasks.Task" : type;
}

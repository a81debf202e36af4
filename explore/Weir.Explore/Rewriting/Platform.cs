namespace Weir.Explore.Rewriting;

/// <summary>Which calls of the platform are points, and which could wait for something that is not controlled.</summary>
internal static class Platform
{
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

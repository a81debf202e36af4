namespace Weir.Cli.Profiling;

/// <summary>
/// Reduces a stack of the runtime to the measured code: without threads that are not part of it, and without the lab's frames around each operation.
/// </summary>
internal static partial class StackFolding
{
    private const string OwnProgram = "Weir.Cli";
    private const string OwnLibrary = "Weir.Lab";

    /// <summary>Folds a stack.</summary>
    /// <param name="frames">From the outermost to the innermost.</param>
    /// <param name="isNative">Whether the thread was in code of the system or of a native library, where it may have worked or waited.</param>
    /// <returns>The frames to show, none if they are not of the measured work, and what the thread did.</returns>
    public static FoldedSample Fold(IReadOnlyList<SampledFrame> frames, bool isNative)
    {
        SampleKind kind = frames.Count > 0 ? KindOf(frames[^1], isNative) : isNative ? SampleKind.Native : SampleKind.Managed;
        if (frames.Count == 0 || frames.Any(static f => IsOfThisProgram(f) || IsEventLoop(f) || IsFinalizing(f) || IsTracing(f) || IsSimulation(f)))
        {
            return new FoldedSample(null, kind);
        }

        // The frames that the compiler puts between an asynchronous method and its caller carry no information.
        SampledFrame[] told = [.. frames.Where(static f => !f.Method.StartsWith("System.Runtime.CompilerServices.Async", StringComparison.Ordinal))];
        if (!Array.Exists(told, IsLab))
        {
            return new FoldedSample(Joined(OnOtherThreads(told)), kind);
        }

        // The threads that watch the round and pace its starts have frames of the lab, and call no operation.
        string? lab = kind == SampleKind.Waiting ? null : CallsOperations(frames[^1]) ? ProfileRecord.Operation : ProfileRecord.LabLoop;
        return new FoldedSample(Array.Exists(told, IsOperation) ? Joined(InTheLab(told)) ?? lab : null, kind);
    }

    /// <summary>The asynchronous method that awaits, by the stack of its await; <see langword="null"/> for one of the lab.</summary>
    public static string? AwaiterOf(IReadOnlyList<SampledFrame> frames) =>
        frames.LastOrDefault(static f => StateMachine().IsMatch(WithoutParameters(f.Method))) is { Method: not null } frame && !IsLab(frame)
            ? NameOf(frame.Method)
            : null;

    /// <summary>Whether the stack is of a thread of the pool at work.</summary>
    public static bool IsOfThePool(IReadOnlyList<SampledFrame> frames) =>
        frames.Any(static f => f.Method.StartsWith("System.Threading.ThreadPoolWorkQueue.Dispatch", StringComparison.Ordinal));

    /// <summary>The name of a method without its parameters. For an asynchronous method, the name in the source, not that of its state machine.</summary>
    internal static string NameOf(string method)
    {
        string name = StateMachine().Replace(WithoutParameters(method), "$1.$2");
        return name.Replace(ProfileStack.Separator, ',');
    }

    private static string WithoutParameters(string method) => method.IndexOf('(', StringComparison.Ordinal) is > 0 and int end ? method[..end] : method;

    private static string? Joined(SampledFrame[] frames) =>
        frames.Length == 0 ? null : string.Join(ProfileStack.Separator, frames.Select(static f => NameOf(f.Method)));

    private static SampledFrame[] InTheLab(SampledFrame[] frames)
    {
        SampledFrame[] measured = [.. frames.SkipWhile(static f => !IsLab(f)).Where(static f => !IsLab(f))];
        return Array.TrueForAll(measured, IsOfTheLoop) ? [] : measured;
    }

    // A thread of the pool, or one of the measured code's own. One of the pool that looks for work has nothing but the pool in its stack.
    private static SampledFrame[] OnOtherThreads(SampledFrame[] frames)
    {
        SampledFrame[] inner = [.. frames.SkipWhile(IsThreading)];
        return inner.Length > 0
            ? inner
            : [.. frames.Where(static f => f.Method.StartsWith("System.Threading.ThreadPoolWorkQueue.Dispatch", StringComparison.Ordinal)).Take(1)];
    }

    // The threads that control the measurement and read the profile: they are not part of the measured code.
    private static bool IsOfThisProgram(SampledFrame frame) =>
        frame.Module == OwnProgram && !frame.Method.StartsWith("Weir.Cli.Workloads.", StringComparison.Ordinal);

    // The profiler at work: sources of events describe themselves to it, and it talks to the runtime.
    private static bool IsTracing(SampledFrame frame) => frame.Method.StartsWith("System.Diagnostics.Tracing.", StringComparison.Ordinal)
        || frame.Method.StartsWith("Microsoft.Diagnostics.NETCore.Client.", StringComparison.Ordinal);

    // It waits for all sockets of the process, including those of the lab.
    private static bool IsEventLoop(SampledFrame frame) => frame.Method.StartsWith("System.Net.Sockets.SocketAsyncEngine.EventLoop", StringComparison.Ordinal);

    // The runtime's thread for finalizers, which waits for objects.
    private static bool IsFinalizing(SampledFrame frame) => frame.Method.StartsWith("System.GC.RunFinalizers(", StringComparison.Ordinal);

    // The built-in workloads are in the lab's library too.
    private static bool IsLab(SampledFrame frame) => frame.Module == OwnProgram
        || (frame.Module == OwnLibrary && !frame.Method.StartsWith("Weir.Lab.Workloads.", StringComparison.Ordinal)
            && !frame.Method.StartsWith("Weir.Lab.Work.", StringComparison.Ordinal));

    private static bool IsThreading(SampledFrame frame) => frame.Method.StartsWith("System.Threading.", StringComparison.Ordinal);

    // The clock and the signs between workers, when no other code lies between them and the lab.
    private static bool IsOfTheLoop(SampledFrame frame) =>
        IsThreading(frame) || frame.Method.StartsWith("System.Diagnostics.Stopwatch.", StringComparison.Ordinal);

    // What calls the operations. Everything measured is called from there, or runs on threads without the lab.
    private static bool IsOperation(SampledFrame frame) => frame.Module == OwnLibrary
        && frame.Method.StartsWith("Weir.Lab.Workers.", StringComparison.Ordinal) && CallOfOperations().IsMatch(frame.Method);

    // The methods that call them do hardly anything else: the loops, and the delegate around a method of the user's.
    private static bool CallsOperations(SampledFrame frame) => frame.Module == OwnProgram || IsOperation(frame);

    // It ends the simulated waits of workloads.
    private static bool IsSimulation(SampledFrame frame) => frame.Method.StartsWith("Weir.Lab.Work.WaitThread.EndWaits", StringComparison.Ordinal);

    private static SampleKind KindOf(SampledFrame innermost, bool isNative) => (IsThreading(innermost), isNative) switch
    {
        (true, true) => SampleKind.Waiting,
        (true, false) => SampleKind.Spinning,
        (false, true) => SystemCall().IsMatch(innermost.Method) ? SampleKind.Waiting : SampleKind.Native,
        _ => SampleKind.Managed,
    };

    [GeneratedRegex(@"^Interop[+./]+(Sys|Kernel32|Winsock|NtDll)\b", RegexOptions.IgnoreCase)]
    private static partial Regex SystemCall();

    [GeneratedRegex(@"^[^(]*Operation")]
    private static partial Regex CallOfOperations();

    [GeneratedRegex(@"^(.*)[+.]<(\w+)>d__\d+(?:\[.*\]|`\d+(?:\[.*\])?)?\.MoveNext$")]
    private static partial Regex StateMachine();
}

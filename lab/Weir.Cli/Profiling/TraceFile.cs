using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.EventPipe;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;
using Weir.Lab.Report.Tables;

namespace Weir.Cli.Profiling;

/// <summary>Reads what the runtime wrote during a round.</summary>
internal static class TraceFile
{
    // Enough for any picture, while result files stay small enough to read.
    private const int MostStacks = 1_000;
    private const int MostTypes = 100;

    // What the lab's loop does for an operation that is timed: two readings of the clock, and some counting. A few times as much as it takes.
    private const double LoopNanoseconds = 300;

    // A wait of an asynchronous method, which holds no thread.
    private const int Asynchronous = 2;

    // A thread of the pool waits for a task, and another one takes its place: of .NET 6 and later, and without a name in the library that reads the events.
    private const ThreadAdjustmentReason CooperativeBlocking = (ThreadAdjustmentReason)8;

    /// <summary>Reads it.</summary>
    /// <returns>The profile, and a sentence if the pool was short of threads.</returns>
    /// <param name="path">The file. Another one is written beside it.</param>
    /// <param name="round">When the round began and ended, in UTC; events before and after it belong to the profiler.</param>
    /// <param name="seconds">How long of it was measured.</param>
    /// <param name="rate">How many operations a second there were.</param>
    /// <param name="times">The processor time of the threads.</param>
    public static (ProfileRecord Profile, string? Starved) Read(
        string path, (DateTime Begin, DateTime End) round, double seconds, double rate, ThreadTimes times)
    {
        using TraceLog log = Open(path);
        SampleShares shares = new(times.Share, times.LengthOf, rate * seconds * LoopNanoseconds);
        Dictionary<string, (int Ticks, long Bytes)> types = [];
        Dictionary<string, int> blocked = [];
        int starvations = 0;
        int stop = 0;
        int stops = 0;
        using TraceLogEventSource source = log.Events.GetSource();
        SampleTimes sampling = new(source);
        SampleProfilerTraceEventParser samples = new(source);
        samples.ThreadSample += sample =>
        {
            if (!IsWithin(sample, round))
            {
                return;
            }

            stops += sampling.Stop == stop ? 0 : 1;
            stop = sampling.Stop;
            List<SampledFrame> frames = Frames(sample.CallStack());
            FoldedSample folded = StackFolding.Fold(frames, sample.Type == ClrThreadSampleType.External);
            shares.Add(sample.ThreadID, times.IntervalOf(sample.TimeStamp.ToUniversalTime()), folded, sampling.Of(folded.Kind == SampleKind.Managed));
            if (folded is { Kind: SampleKind.Waiting, Frames: { } waits } && StackFolding.IsOfThePool(frames))
            {
                blocked[waits] = blocked.GetValueOrDefault(waits) + 1;
            }
        };
        source.Clr.ThreadPoolWorkerThreadAdjustmentAdjustment += adjustment =>
            starvations += IsWithin(adjustment, round) && adjustment.Reason is ThreadAdjustmentReason.Starvation or CooperativeBlocking ? 1 : 0;
        source.Clr.GCAllocationTick += (GCAllocationTickTraceData tick) =>
        {
            if (IsWithin(tick, round) && StackFolding.Fold(Frames(tick.CallStack()), isNative: false).Frames is not (null or ProfileRecord.LabLoop))
            {
                string type = tick.TypeName is { Length: > 0 } name ? name : "(unknown)";
                (int ticks, long bytes) = types.GetValueOrDefault(type);
                types[type] = (ticks + 1, bytes + tick.AllocationAmount64);
            }
        };
        source.Process();
        (Dictionary<string, double> work, Dictionary<string, double> waiting) = shares.Divide();
        ProfileRecord profile = new()
        {
            Seconds = seconds,
            Stacks = Most(work),
            Waits = Most(waiting),
            Allocations =
            [
                .. types.Select(static t => new ProfileAllocation(t.Key, t.Value.Ticks, t.Value.Bytes))
                    .OrderByDescending(static t => t.Bytes).ThenBy(static t => t.Type, StringComparer.Ordinal).Take(MostTypes),
            ],
        };
        return (profile, Starved(starvations, blocked, stops));
    }

    // A pool that has grown adds no more threads, though most of those that it has do nothing but wait.
    private static string? Starved(int starvations, Dictionary<string, int> blocked, int stops)
    {
        double mean = (double)blocked.Values.Sum() / Math.Max(1, stops);
        string? how = starvations > 0 ? $"it added threads {Numbers.Counted(starvations, "time")} because its own were blocked"
            : mean > Environment.ProcessorCount
                ? FormattableString.Invariant($"{mean:0.0} of its threads were blocked on average, which is more than there are processors")
            : null;
        return how is null || WaitSite.Of([.. blocked.Select(static b => new ProfileStack(b.Key, b.Value))]) is not [var site, ..] ? null
            : $"The pool was starved: {how}, most of them in {site.Method} by {site.For}.";
    }

    /// <summary>Reads who awaited whom from a file of its own.</summary>
    public static IReadOnlyList<ProfileAwait> Awaits(string path, (DateTime Begin, DateTime End) round)
    {
        using TraceLog log = Open(path);
        AwaitChains awaits = new();
        using TraceLogEventSource source = log.Events.GetSource();
        TplEtwProviderTraceEventParser tasks = new(source);
        tasks.TraceOperationStart += named => awaits.Name(named.TaskID, named.OperationName);
        tasks.TaskWaitSend += wait =>
        {
            if (IsWithin(wait, round) && (int)wait.Behavior == Asynchronous)
            {
                awaits.Begin(wait.TaskID, wait.ContinueWithTaskID, StackFolding.AwaiterOf(Frames(wait.CallStack())), wait.TimeStampRelativeMSec / 1e3);
            }
        };
        tasks.TaskWaitStop += wait => awaits.End(wait.TaskID, wait.TimeStampRelativeMSec / 1e3);
        source.Process();
        return awaits.Most(MostTypes);
    }

    private static TraceLog Open(string path)
    {
        string converted = path + ".etlx";
        TraceLog.CreateFromEventPipeDataFile(path, converted);
        return new TraceLog(converted);
    }

    private static bool IsWithin(TraceEvent e, (DateTime Begin, DateTime End) round) =>
        e.TimeStamp.ToUniversalTime() >= round.Begin && e.TimeStamp.ToUniversalTime() <= round.End;

    private static IReadOnlyList<ProfileStack> Most(Dictionary<string, double> stacks) =>
    [
        .. stacks.Select(static s => new ProfileStack(s.Key, (int)Math.Round(s.Value))).Where(static s => s.Samples > 0)
            .OrderByDescending(static s => s.Samples).ThenBy(static s => s.Frames, StringComparer.Ordinal).Take(MostStacks),
    ];

    private static List<SampledFrame> Frames(TraceCallStack? innermost)
    {
        List<SampledFrame> frames = [];
        for (TraceCallStack? at = innermost; at is not null; at = at.Caller)
        {
            // Code of the runtime itself has no name here.
            if (at.CodeAddress.FullMethodName is { Length: > 0 } name)
            {
                frames.Add(new SampledFrame(at.CodeAddress.ModuleName, name));
            }
        }

        frames.Reverse();
        return frames;
    }
}

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

/// <summary>A method in a stack.</summary>
/// <param name="Module">The file that it comes from, without its extension.</param>
/// <param name="Method">Its full name as the runtime gives it, with its parameters.</param>
internal readonly record struct SampledFrame(string Module, string Method);

/// <summary>A sample of a thread.</summary>
/// <param name="Frames">
/// The methods from the outermost to the innermost, between semicolons; <see langword="null"/> of what is not the measured work, such as the profiler.
/// </param>
/// <param name="Kind">What the thread did.</param>
internal readonly record struct FoldedSample(string? Frames, SampleKind Kind);

/// <summary>What a thread did when it was sampled, as far as its stack tells. The kinds are in the order in which processor time is given to them.</summary>
internal enum SampleKind
{
    /// <summary>It was in compiled code.</summary>
    Managed,

    /// <summary>It was in a native library or in the system, where it may have worked or waited.</summary>
    Native,

    /// <summary>It was about to wait, or looked again and again whether it has to.</summary>
    Spinning,

    Waiting,
}

/// <summary>Divides samples into work and waiting, by the processor time of the threads.</summary>
/// <remarks>
/// A stack does not tell whether a native call works or sleeps, and a thread that wakes up is found in compiled code more often than it runs, because a sample
/// stops it there. The system tells how long the thread had something to do in an interval: so much of its samples is work. They count by the time for which
/// they stand, not by their number, because a sample stops compiled code, but not a native call, which runs on meanwhile. Where the system does not tell it,
/// all samples are work except those of waiting threads.
/// </remarks>
/// <param name="share">The share of an interval in which a thread had something to do; <see langword="null"/> if it is not known.</param>
/// <param name="length">The length of an interval.</param>
/// <param name="loop">How much time the lab's loop itself can have needed at most, in the unit of the lengths.</param>
internal sealed class SampleShares(Func<int, int, double?> share, Func<int, double> length, double loop = double.PositiveInfinity)
{
    private readonly Dictionary<(int Thread, int Interval), List<(FoldedSample Sample, double Time)>> _samples = [];

    /// <summary>Adds a sample.</summary>
    /// <param name="thread">The system's number of the thread.</param>
    /// <param name="interval">The interval in which it was taken.</param>
    /// <param name="sample">The sample.</param>
    /// <param name="time">For how much of the thread's time it stands, in the unit of the lengths.</param>
    public void Add(int thread, int interval, FoldedSample sample, double time)
    {
        if (!_samples.TryGetValue((thread, interval), out List<(FoldedSample, double)>? samples))
        {
            _samples[(thread, interval)] = samples = [];
        }

        samples.Add((sample, time));
    }

    /// <summary>The stacks of work and of waiting, with their samples.</summary>
    public (Dictionary<string, double> Work, Dictionary<string, double> Waiting) Divide()
    {
        Dictionary<string, double> work = [];
        Dictionary<string, double> waiting = [];
        (FoldedSample Sample, double Time)[] all = [.. _samples.Values.SelectMany(static s => s).Where(static s => s.Sample.Frames is not null)];
        double one = all.Length == 0 ? 1 : all.Sum(static s => s.Time) / all.Length;
        foreach (((int thread, int interval), List<(FoldedSample Sample, double Time)> samples) in _samples)
        {
            double? busy = share(thread, interval) * (interval < 0 ? 0 : length(interval));
            (SampleKind Kind, double Time, double Part)[] kinds = [.. Parts(samples, busy ?? double.PositiveInfinity)];
            double known = kinds.Sum(static k => k.Time * k.Part);

            // Code that cannot be stopped has few samples, and counts by its time all the same.
            double scale = busy is { } whole && known > 0 ? whole / known : 1;
            foreach ((FoldedSample sample, double time) in samples)
            {
                // A thread of the pool that runs other code for a while, such as the profiler's, is not at work for all of its time.
                if (sample.Frames is null)
                {
                    continue;
                }

                double part = Array.Find(kinds, k => k.Kind == sample.Kind).Part;
                Add(work, sample.Frames, time * part * scale / one);

                // Compiled code that was not at work was stopped by the profiler, and the loop is no part of the work.
                bool waits = sample.Kind != SampleKind.Managed && sample.Frames is not (ProfileRecord.LabLoop or ProfileRecord.Operation);
                Add(waiting, sample.Frames, waits ? time * (1 - part) / one : 0);
            }
        }

        GiveReturns(work, loop / one);
        return (work, waiting);
    }

    // How much of the samples of each kind is work: the kinds get what there is of it in their order.
    private static IEnumerable<(SampleKind Kind, double Time, double Part)> Parts(List<(FoldedSample Sample, double Time)> samples, double left)
    {
        foreach (IGrouping<SampleKind, (FoldedSample Sample, double Time)> kind in samples.GroupBy(static s => s.Sample.Kind).OrderBy(static g => g.Key))
        {
            double time = kind.Sum(static s => s.Time);
            double part = kind.Key == SampleKind.Waiting || !(time > 0) ? 0 : Math.Min(1, left / time);
            left -= part * time;
            yield return (kind.Key, time, part);
        }
    }

    // Where compiled code cannot be stopped, it is stopped when it returns: a short operation in the loop that called it, or a little later, where the loop
    // reads the clock. What is more there than the loop can need is the operations'.
    private static void GiveReturns(Dictionary<string, double> work, double loop)
    {
        string[] operations = [.. work.Keys.Where(static f => f is not (ProfileRecord.Operation or ProfileRecord.LabLoop))];
        double known = operations.Sum(f => work[f]);
        if (known <= 0)
        {
            return;
        }

        work.Remove(ProfileRecord.Operation, out double returned);
        if (work.TryGetValue(ProfileRecord.LabLoop, out double inLoop) && inLoop > loop)
        {
            returned += inLoop - loop;
            work[ProfileRecord.LabLoop] = loop;
        }

        foreach (string frames in operations)
        {
            work[frames] *= 1 + (returned / known);
        }
    }

    private static void Add(Dictionary<string, double> stacks, string frames, double part)
    {
        // Less is what is left of rounding.
        if (part > 1e-6)
        {
            stacks[frames] = stacks.GetValueOrDefault(frames) + part;
        }
    }
}

/// <summary>
/// For how much time a sample stands. The runtime stops all threads for a sample, so compiled code ran only from the end of the last stop on; code of the
/// system or of a native library ran on meanwhile, and stands for all the time since the last sample.
/// </summary>
internal sealed class SampleTimes
{
    // What a sample stands for while nothing is known of the one before it.
    private const double Usual = 1e6;

    private double? _stopped;
    private double? _lastStopped;
    private double? _went;
    private bool _isForSamples;

    /// <summary>The number of the stop that is under way, from 1.</summary>
    public int Stop { get; private set; }

    /// <summary>Follows the events.</summary>
    public SampleTimes(TraceLogEventSource source)
    {
        // Collections stop threads too.
        source.Clr.GCSuspendEEStart += e => _isForSamples = e.Reason == GCSuspendEEReason.SuspendOther;
        source.Clr.GCSuspendEEStop += e =>
        {
            if (_isForSamples)
            {
                Stop++;
                _lastStopped = _stopped;
                _stopped = Nanoseconds(e);
            }
        };
        source.Clr.GCRestartEEStop += e => _went = _isForSamples ? Nanoseconds(e) : _went;
    }

    /// <summary>In nanoseconds, for a sample of the stop that is under way.</summary>
    /// <param name="isManaged">Whether the thread was in compiled code.</param>
    public double Of(bool isManaged) => (isManaged ? _went : _lastStopped) is { } from && _stopped > from ? _stopped.Value - from : Usual;

    private static double Nanoseconds(TraceEvent e) => e.TimeStampRelativeMSec * 1e6;
}

/// <summary>
/// Reads every few milliseconds how long each thread of this process had something to do: with a processor, or waiting for one. So neighbours do not turn work
/// into waiting. Only Linux tells it at this resolution.
/// </summary>
internal sealed class ThreadTimes : IDisposable
{
    private const string Tasks = "/proc/self/task";
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(20);

    private readonly ManualResetEventSlim _end = new();
    private readonly List<(DateTime At, Dictionary<int, long> Nanoseconds)> _readings = [];
    private readonly Thread? _reading;

    public ThreadTimes()
    {
        if (File.Exists(Tasks + $"/{Environment.ProcessId}/schedstat"))
        {
            _reading = new Thread(Read) { IsBackground = true, Name = "profile: thread times" };
            _reading.Start();
        }
    }

    /// <summary>Ends the reading. Only then may the times be asked for.</summary>
    public void Dispose()
    {
        _end.Set();
        _reading?.Join();
    }

    /// <summary>The number of the interval between two readings in which a moment lies; -1 if it lies in none.</summary>
    public int IntervalOf(DateTime at)
    {
        int next = _readings.FindIndex(r => r.At > at);
        return next - 1;
    }

    /// <summary>The share of an interval in which a thread had something to do, from 0 to 1; <see langword="null"/> if it is not known.</summary>
    public double? Share(int thread, int interval)
    {
        if (interval < 0 || interval + 1 >= _readings.Count
            || !_readings[interval + 1].Nanoseconds.TryGetValue(thread, out long last) || !_readings[interval].Nanoseconds.TryGetValue(thread, out long first))
        {
            return null;
        }

        return Math.Clamp((last - first) / LengthOf(interval), 0, 1);
    }

    /// <summary>The nanoseconds of an interval for which shares are known.</summary>
    public double LengthOf(int interval) => (_readings[interval + 1].At - _readings[interval].At).TotalNanoseconds;

    private void Read()
    {
        do
        {
            Dictionary<int, long> times = [];
            foreach (string task in Directory.EnumerateDirectories(Tasks))
            {
                try
                {
                    // The time with a processor, the time without one though ready, and the number of time slices.
                    times[int.Parse(Path.GetFileName(task), CultureInfo.InvariantCulture)] =
                        File.ReadAllText(task + "/schedstat").Split(' ').Take(2).Sum(static t => long.Parse(t, CultureInfo.InvariantCulture));
                }
                catch (IOException)
                {
                    // It has ended.
                }
            }

            _readings.Add((DateTime.UtcNow, times));
        }
        while (!_end.Wait(Pause));
    }
}

/// <summary>
/// Which asynchronous method awaits which, from the runtime's events of tasks. The time of an await counts once, for what the innermost method awaits; the
/// methods that await that one are those that it holds.
/// </summary>
internal sealed class AwaitChains
{
    private const string Other = "a task that others complete";

    private readonly Dictionary<int, string?> _methods = [];
    private readonly Dictionary<int, string> _named = [];
    private readonly Dictionary<int, (int By, double At)> _waits = [];
    private readonly Dictionary<string, (int Times, double Seconds)> _chains = [];

    /// <summary>The platform gives a task a name.</summary>
    public void Name(int task, string name)
    {
        // Those of asynchronous methods have no namespace, so they are told by the stack of their await.
        if (name.StartsWith("Task.", StringComparison.Ordinal))
        {
            _named[task] = name == "Task.Delay" ? "a delay" : name;
        }
    }

    /// <summary>A method begins to await a task.</summary>
    /// <param name="task">What is awaited.</param>
    /// <param name="by">The task of the method.</param>
    /// <param name="method">Its name; <see langword="null"/> if it is the lab's.</param>
    /// <param name="at">When, in seconds.</param>
    public void Begin(int task, int by, string? method, double at)
    {
        if (by != 0)
        {
            _methods[by] = method;
            _waits[task] = (by, at);
        }
    }

    /// <summary>The task has ended, and its method continues.</summary>
    public void End(int task, double at)
    {
        bool isOfAMethod = _methods.Remove(task);
        string awaited = _named.Remove(task, out string? name) ? name : Other;
        if (!_waits.Remove(task, out (int By, double At) wait) || isOfAMethod)
        {
            return;
        }

        // A method that awaits itself is no chain.
        List<string> chain = [awaited];
        HashSet<int> seen = [];
        for (int by = wait.By; seen.Add(by) && _methods.GetValueOrDefault(by) is { } method; by = _waits.GetValueOrDefault(by).By)
        {
            chain.Insert(0, method);
        }

        if (chain.Count > 1)
        {
            string frames = string.Join(ProfileStack.Separator, chain);
            (int times, double seconds) = _chains.GetValueOrDefault(frames);
            _chains[frames] = (times + 1, seconds + at - wait.At);
        }
    }

    /// <summary>The chains, the longest awaited first.</summary>
    /// <param name="most">How many at most.</param>
    public IReadOnlyList<ProfileAwait> Most(int most) =>
    [
        .. _chains.Select(static c => new ProfileAwait(c.Key, c.Value.Times, c.Value.Seconds))
            .OrderByDescending(static c => c.Seconds).ThenBy(static c => c.Frames, StringComparer.Ordinal).Take(most),
    ];
}

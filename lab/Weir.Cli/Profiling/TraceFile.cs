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
        return how is null || WaitPlace.Of([.. blocked.Select(static b => new ProfileStack(b.Key, b.Value))]) is not [var place, ..] ? null
            : $"The pool was starved: {how}, most of them in {place.Method} by {place.For}.";
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

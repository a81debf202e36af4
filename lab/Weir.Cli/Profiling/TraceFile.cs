using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.EventPipe;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

namespace Weir.Cli.Profiling;

/// <summary>Reads what the runtime wrote during a round.</summary>
internal static class TraceFile
{
    // Enough for any picture, while result files stay small enough to read.
    private const int MostStacks = 1_000;
    private const int MostTypes = 100;

    /// <summary>Reads it.</summary>
    /// <param name="path">The file. Another one is written beside it, and removed again.</param>
    /// <param name="round">When the round began and ended, in UTC; events before and after it belong to the profiler.</param>
    /// <param name="seconds">How long of it was measured.</param>
    /// <param name="times">The processor time of the threads.</param>
    public static ProfileRecord Read(string path, (DateTime Begin, DateTime End) round, double seconds, ThreadTimes times)
    {
        string converted = path + ".etlx";
        try
        {
            TraceLog.CreateFromEventPipeDataFile(path, converted);
            using TraceLog log = new(converted);
            return Read(log, round, seconds, times);
        }
        finally
        {
            File.Delete(converted);
        }
    }

    private static ProfileRecord Read(TraceLog log, (DateTime Begin, DateTime End) round, double seconds, ThreadTimes times)
    {
        SampleShares shares = new(times.Share);
        Dictionary<string, (int Ticks, long Bytes)> types = [];
        using TraceLogEventSource source = log.Events.GetSource();
        bool IsWithin(TraceEvent e) => e.TimeStamp.ToUniversalTime() >= round.Begin && e.TimeStamp.ToUniversalTime() <= round.End;

        SampleProfilerTraceEventParser samples = new(source);
        samples.ThreadSample += sample =>
        {
            if (IsWithin(sample) && StackFolding.Fold(Frames(sample.CallStack()), sample.Type == ClrThreadSampleType.External) is { } folded)
            {
                shares.Add(sample.ThreadID, times.IntervalOf(sample.TimeStamp.ToUniversalTime()), folded);
            }
        };
        source.Clr.GCAllocationTick += (GCAllocationTickTraceData tick) =>
        {
            if (IsWithin(tick) && StackFolding.Fold(Frames(tick.CallStack()), isNative: false) is not (null or { Frames: ProfileRecord.LabLoop }))
            {
                string type = tick.TypeName is { Length: > 0 } name ? name : "(unknown)";
                (int ticks, long bytes) = types.GetValueOrDefault(type);
                types[type] = (ticks + 1, bytes + tick.AllocationAmount64);
            }
        };
        source.Process();
        (Dictionary<string, double> work, Dictionary<string, double> waiting) = shares.Divide();
        return new ProfileRecord
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
    }

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

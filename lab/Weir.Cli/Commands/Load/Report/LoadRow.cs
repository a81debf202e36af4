using Weir.Cli.Commands.Load.Arms;
using Weir.Cli.Runtimes;
using Weir.Lab.Trials;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>What a run says about one arm.</summary>
internal sealed class LoadRow
{
    private const long Million = 1_000_000;

    public LoadRow(LoadArm arm, ArmResult result)
    {
        Name = arm.Arm.Name;
        Choice = arm.Choice;
        Result = result;
        Decisions = arm.Decisions();
        IsMeasured = result.Counted.Count > 0;
        if (!IsMeasured)
        {
            return;
        }

        // Complete windows give the figures of one pass; a window that was stopped gives what was done in it.
        bool stopped = result.Counted[0].IsPartial;
        Processed = stopped ? result.Items : result.ItemsPerPass;
        Throughput = result.Rate.Median;
        Elapsed = Processed / Throughput;
        double passes = (double)result.Items / Processed;
        GcCount = result.Resources.Collections / passes;
        Failed = (long)Math.Round(result.Counted.Sum(static w => w.Failed) / passes);
        TimedOut = (long)Math.Round(result.Counted.Sum(static w => w.TimedOut) / passes);
        Checksum = result.Counted.Any(static w => w.Passes > 0) ? arm.Arm.Expected.Checksum : null;
        CpuSecondsPerMillion = result.Per(static r => r.Cpu.TotalSeconds, Million);
        BytesPerItem = result.Per(static r => r.AllocatedBytes, 1);
    }

    public string Name { get; }

    /// <summary>The runtime; <see langword="null"/> for a peer.</summary>
    public RuntimeChoice? Choice { get; }

    public ArmResult Result { get; }

    /// <summary>Whether there is anything to say; not so when the run was stopped before.</summary>
    public bool IsMeasured { get; }

    /// <summary>What the auto runtime decided.</summary>
    public IReadOnlyList<LoadDecision> Decisions { get; }

    /// <summary>How many items the next figures are about: those of a pass.</summary>
    public long Processed { get; }

    /// <summary>Seconds that these items take, by the median of the windows.</summary>
    public double Elapsed { get; }

    /// <summary>Items per second, the median of the windows.</summary>
    public double Throughput { get; }

    /// <summary>Collections of any generation while these items run. Not a whole number when a window has several passes.</summary>
    public double GcCount { get; }

    public long Failed { get; }

    public long TimedOut { get; }

    /// <summary>The verified checksum; <see langword="null"/> when no pass was completed.</summary>
    public long? Checksum { get; }

    public double BytesPerItem { get; }

    public double CpuSecondsPerMillion { get; }

    /// <summary>Nanoseconds of an item beyond one of the direct runtime.</summary>
    public double? AboveDirect { get; init; }

    /// <summary>How many times as fast as the plain loop.</summary>
    public double? ToLoop { get; init; }

    /// <summary>How many times as fast as Parallel.ForEachAsync.</summary>
    public double? ToForEachAsync { get; init; }
}

namespace Weir.Cli.Commands.Hash;

/// <summary>One round in this process: all files once, with proof of where their bytes came from.</summary>
internal static class HashRound
{
    /// <summary>How far the bytes read from the device may be off, as a share of the bytes hashed.</summary>
    public const double Tolerance = 0.01;

    // Reads of code and of directories are in the count as well.
    private const long Slack = 512 * 1024;

    /// <summary>Runs a round.</summary>
    /// <returns>Its figures; <see langword="null"/> when it was stopped before anything was measured.</returns>
    public static async Task<RoundRecord?> RunAsync(HashOrder order, CancellationToken stop)
    {
        bool isLoop = order.Arm == HashArm.ForEach;
        WorkerRunSpec spec = new()
        {
            Workload = HashCommand.Name,
            Groups = [new WorkerGroup(WorkerRunSpec.DefaultGroup, isLoop ? 1 : order.Workers)],
            Whole = isLoop ? new WholeOperations { Each = 1 } : new WholeOperations { Together = order.Files },
            Rounds = 1,
            MostRepeats = 0,
            LongestWarmUp = TimeSpan.Zero,
            MinThreads = order.MinThreads,
            MeasuresLatency = false,
            FailsFast = true,

            // Long enough for a disk to load the files into the cache and to read them.
            DrainLimit = TimeSpan.FromDays(1),
        };
        FilesWorkload files = new(order);
        WorkerRun run = await new WorkerRunner(spec).RunAsync(files, stop);
        return run.Rounds is [var round] ? Record(order, files, round) : null;
    }

    /// <summary>The problem of a completed round; <see langword="null"/> if there is none.</summary>
    internal static string? Problem(HashOrder order, long done, long bytes, long? device) => done != order.Files
        ? $"{Numbers.Grouped(done)} files were hashed instead of {Numbers.Grouped(order.Files)}."
        : CacheProblem(order, bytes, device);

    // A condition and no wrong result: another program that reads the files brings them into the cache.
    private static string? CacheProblem(HashOrder order, long bytes, long? device)
    {
        bool isWarm = order.Cache == CacheMode.Warm && !order.IsDirect;
        if (device is not { } read)
        {
            return isWarm ? null : "This system does not count the bytes that a process reads from a device, so there is no proof of where they came from.";
        }

        long allowed = Math.Max((long)(bytes * Tolerance), Slack);
        return (isWarm ? read : Math.Abs(read - bytes)) <= allowed
            ? null
            : $"The cache was not {(isWarm ? "warm" : "cold")}: {Numbers.Bytes(read)} of {Numbers.Bytes(bytes)} came from the device.";
    }

    private static RoundRecord Record(HashOrder order, FilesWorkload files, WorkerRound round) => new RoundRecord
    {
        Operations = files.Done,
        Seconds = round.Seconds,
        Rate = files.Done / round.Seconds,
        Partial = round.IsPartial,
        Problem = round.Troubles.Count > 0 ? string.Join(" ", round.Troubles) : null,
        Disturbed = round.Troubles is [var trouble] && trouble == CacheProblem(order, files.Done * order.FileSize, files.DeviceBytes),
        Open = round.InFlight.Average,
        OpenMax = round.InFlight.Max,
        InFlight = files.Seen.Average,
        InFlightMax = files.Seen.Max,
        Bytes = files.Done * order.FileSize,
        DeviceBytes = files.DeviceBytes,
        Checksum = files.Tallies.Aggregate(0UL, static (sum, t) => unchecked(sum + t.Checksum)).ToString("x16", null),
        Service = HistogramCodec.Encode(files.Latency()),
        PerWorker = order.Arm == HashArm.ForEach ? [] : [.. files.Tallies.Select(static t => t.Files)],
        LongestGapSeconds = files.Tallies.Max(static t => t.LongestGap) / 1e9,
        CanarySlowness = round.Canary.Slowness,
        CanaryVariation = round.Canary.Variation,
        Timeline = files.Timeline,
    }.With(round.Resources) with { AllocatedBytes = (long)(round.BytesPerOperation * round.Operations) };
}

using System.Diagnostics;
using Weir.Cli.Storage;
using Weir.Lab.Formatting;
using Weir.Lab.Latency;
using Weir.Lab.Resources;
using Weir.Lab.Results;

namespace Weir.Cli.Commands.Hash;

/// <summary>One round in this process: brings the page cache into its state, hashes all files, and proves where the bytes came from.</summary>
internal static class HashRound
{
    /// <summary>How far the bytes read from the device may be off, as a share of the bytes hashed.</summary>
    public const double Tolerance = 0.01;

    // Reads of code and of directories are in the count as well.
    private const long Slack = 512 * 1024;
    private const int WarmUpBytes = 64 * 1024;
    private const int WarmUpFiles = 32;

    /// <summary>Brings the code to speed on small files, so that no measured round compiles.</summary>
    public static async Task WarmUpAsync(HashOrder order)
    {
        string directory = Path.Combine(order.Directory, $".weir-warm-up-{Environment.ProcessId}");
        try
        {
            RandomFiles.Ensure(directory, WarmUpFiles, WarmUpBytes, static _ => { }, CancellationToken.None);
            HashOrder small = order with { Directory = directory, Files = WarmUpFiles, FileSize = WarmUpBytes, Workers = 1, InFlight = null };
            using HashWorkers workers = new(small, CancellationToken.None);
            await workers.RunAsync(static () => { }).ConfigureAwait(false);
        }
        finally
        {
            if (Directory.Exists(directory))
            {
                Directory.Delete(directory, recursive: true);
            }
        }
    }

    /// <summary>Runs a round.</summary>
    public static async Task<RoundRecord> RunAsync(HashOrder order, CancellationToken stop)
    {
        if (order.MinThreads is { } threads)
        {
            ThreadPool.GetMinThreads(out _, out int ports);
            ThreadPool.SetMinThreads(threads, ports);
        }

        PrepareCache(order, stop);
        CanaryReading canary = Canary.Read(10);
        Heap.Collect();
        using HashWorkers workers = new(order, stop);
        RoundSampler? sampler = null;
        long? deviceBefore = null;
        ResourceSample before = default;
        long elapsed = 0;
        long begun = 0;
        try
        {
            elapsed = await workers.RunAsync(() =>
            {
                deviceBefore = DeviceReads.Take();
                before = ResourceSample.Take();
                workers.Open.Reset();
                sampler = RoundSampler.Start(() => workers.Done);
                begun = Stopwatch.GetTimestamp();
            }).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            elapsed = Stopwatch.GetTimestamp() - begun;
        }

        using RoundSampler sampled = sampler!;
        double open = workers.Open.Average();
        IReadOnlyList<TimelineRecord> timeline = sampled.Stop();
        ResourceUse use = ResourceUse.Between(before, ResourceSample.Take());
        long? device = DeviceReads.Take() - deviceBefore;
        double seconds = elapsed / (double)Stopwatch.Frequency;
        long done = workers.Done;
        long bytes = done * order.FileSize;
        bool partial = stop.IsCancellationRequested && done < order.Files;

        LatencyHistogram latency = new();
        foreach (FileTally tally in workers.Tallies)
        {
            latency.Merge(tally.Latency);
        }

        return new RoundRecord
        {
            Operations = done,
            Seconds = seconds,
            Rate = done / seconds,
            Partial = partial,
            Problem = partial ? null : Problem(order, done, bytes, device),
            Open = open,
            OpenMax = workers.Open.Max,
            InFlight = sampled.Average,
            InFlightMax = sampled.Max,
            Bytes = bytes,
            DeviceBytes = device,
            Checksum = workers.Tallies.Aggregate(0UL, static (sum, t) => unchecked(sum + t.Checksum)).ToString("x16", null),
            Service = HistogramCodec.Encode(latency),
            PerWorker = order.Arm == HashArm.ForEach ? [] : [.. workers.Tallies.Select(static t => t.Files)],
            LongestGapSeconds = workers.Tallies.Max(static t => t.LongestGap) / 1e9,
            CanarySlowness = canary.Slowness,
            CanaryVariation = canary.Variation,
            Timeline = timeline,
        }.With(use);
    }

    /// <summary>What is wrong with a round that ran to its end; <see langword="null"/> when nothing is.</summary>
    internal static string? Problem(HashOrder order, long done, long bytes, long? device)
    {
        if (done != order.Files)
        {
            return $"{Numbers.Grouped(done)} files were hashed instead of {Numbers.Grouped(order.Files)}";
        }

        if (device is not { } read)
        {
            return order.Cache == CacheMode.Warm && !order.IsDirect ? null : "this system does not count the bytes that a process reads from a device, so nothing proves where they came from";
        }

        long allowed = Math.Max((long)(bytes * Tolerance), Slack);
        if (order.Cache == CacheMode.Warm && !order.IsDirect)
        {
            return read <= allowed ? null : $"the cache was not warm: {Numbers.Bytes(read)} of {Numbers.Bytes(bytes)} came from the device";
        }

        return Math.Abs(read - bytes) <= allowed
            ? null
            : $"the cache was not cold: {Numbers.Bytes(read)} of {Numbers.Bytes(bytes)} came from the device";
    }

    private static void PrepareCache(HashOrder order, CancellationToken stop)
    {
        if (order.IsDirect)
        {
            // What others have put into the cache does not matter, but a dirty page would be written first.
            return;
        }

        byte[] buffer = new byte[1024 * 1024];
        for (int i = 0; i < order.Files; i++)
        {
            stop.ThrowIfCancellationRequested();
            if (order.Cache == CacheMode.Drop)
            {
                PageCache.Drop(order.PathOf(i));
                continue;
            }

            using FileStream stream = new(order.PathOf(i), FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0);
            while (stream.Read(buffer) > 0)
            {
            }
        }
    }
}

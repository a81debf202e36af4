using System.Collections.Concurrent;

namespace Weir.Cli.Commands.Hash;

/// <summary>
/// A set of files that is hashed once: the workers take paths from one channel until it is empty. Under the library's loop a single operation does them all.
/// </summary>
internal sealed class FilesWorkload(HashOrder order) : IWorkload
{
    private readonly SemaphoreSlim? _limit = order.InFlight is { } limit ? new SemaphoreSlim(limit, limit) : null;
    private readonly ConcurrentBag<(FileHasher Hasher, FileTally Tally)> _slots = [];
    private readonly List<FileHasher> _hashers = [];
    private ChannelReader<string> _paths = Channel.CreateUnbounded<string>().Reader;
    private RoundSampler? _sampler;
    private long? _deviceBefore;

    /// <summary>What each worker did. The library's loop has no workers, but the same number of slots.</summary>
    public IReadOnlyList<FileTally> Tallies { get; private set; } = [];

    public long Done => Tallies.Sum(static t => t.Files);

    /// <summary>The bytes that came from the device, from start to end; <see langword="null"/> if the system does not count them.</summary>
    public long? DeviceBytes { get; private set; }

    /// <summary>The observations of the round while it ran.</summary>
    public RoundSampler Seen => _sampler!;

    /// <summary>The course of the round.</summary>
    public IReadOnlyList<TimelineRecord> Timeline { get; private set; } = [];

    private bool IsLoop => order.Arm == HashArm.ForEach;

    public ValueTask BeginRoundAsync(CancellationToken cancellationToken)
    {
        PrepareCache(cancellationToken);
        Release();
        Tallies = [.. Enumerable.Range(0, order.Workers).Select(static _ => new FileTally())];
        foreach (FileTally tally in Tallies)
        {
            FileHasher hasher = new(order);
            _hashers.Add(hasher);
            _slots.Add((hasher, tally));
        }

        Channel<string> channel = Channel.CreateUnbounded<string>();
        for (int i = 0; i < order.Files; i++)
        {
            channel.Writer.TryWrite(order.PathOf(i));
        }

        channel.Writer.Complete();
        _paths = channel.Reader;
        return default;
    }

    public Operation CreateOperation(WorkerContext context)
    {
        if (IsLoop)
        {
            return Operation.OfAsync(() => _paths.ForEachParallelAsync(
                (path, _) => new ValueTask(InSlotAsync(path, context)), new ParallelRunOptions { MaxDegreeOfParallelism = order.Workers },
                CancellationToken.None));
        }

        (FileHasher hasher, FileTally tally) = (_hashers[context.Worker], Tallies[context.Worker]);
        return order.Arm == HashArm.Async
            ? Operation.Of(() => OneAsync(hasher, tally, context).GetAwaiter().GetResult())
            : Operation.Of(() => One(hasher, tally, context));
    }

    public void WorkersStarting()
    {
        _deviceBefore = SystemUse.DeviceReadBytes();
        _sampler?.Dispose();
        _sampler = RoundSampler.Start(() => Done);
        long start = Stopwatch.GetTimestamp();
        foreach (FileTally tally in Tallies)
        {
            tally.Begin(start);
        }
    }

    public void WorkersEnded()
    {
        Timeline = _sampler!.Stop();
        DeviceBytes = SystemUse.DeviceReadBytes() - _deviceBefore;
    }

    /// <summary>All latencies.</summary>
    public LatencyHistogram Latency()
    {
        LatencyHistogram latency = new();
        foreach (FileTally tally in Tallies)
        {
            latency.Merge(tally.Latency);
        }

        return latency;
    }

    public string? Check(RoundTotals round) => HashRound.Problem(order, Done, Done * order.FileSize, DeviceBytes);

    public ValueTask CleanupAsync()
    {
        _sampler?.Dispose();
        _limit?.Dispose();
        Release();
        return default;
    }

    private void Release()
    {
        _slots.Clear();
        _hashers.ForEach(static h => h.Dispose());
        _hashers.Clear();
    }

    private async Task InSlotAsync(string path, WorkerContext context)
    {
        if (context.Stopping.IsCancellationRequested || !_slots.TryTake(out (FileHasher Hasher, FileTally Tally) slot))
        {
            return;
        }

        await HashAsync(path, slot.Hasher, slot.Tally, context);
        _slots.Add(slot);
    }

    private void One(FileHasher hasher, FileTally tally, WorkerContext context)
    {
        string path = Next();
        _limit?.Wait(context.Stopping);
        long begun = Stopwatch.GetTimestamp();
        context.InFlight.Enter();
        try
        {
            tally.Done(begun, hasher.Hash(path));
        }
        finally
        {
            context.InFlight.Exit();
            _limit?.Release();
        }
    }

    private Task OneAsync(FileHasher hasher, FileTally tally, WorkerContext context) => HashAsync(Next(), hasher, tally, context);

    private async Task HashAsync(string path, FileHasher hasher, FileTally tally, WorkerContext context)
    {
        if (_limit is not null)
        {
            await _limit.WaitAsync(context.Stopping);
        }

        long begun = Stopwatch.GetTimestamp();
        context.InFlight.Enter();
        try
        {
            tally.Done(begun, await hasher.HashAsync(path, CancellationToken.None));
        }
        finally
        {
            context.InFlight.Exit();
            _limit?.Release();
        }
    }

    // Each operation takes an existing file: there are as many files as operations.
    private string Next() => _paths.TryRead(out string? path) ? path : throw new InvalidOperationException("There is no file left.");

    private void PrepareCache(CancellationToken stop)
    {
        if (order.IsDirect)
        {
            // Cached pages of other files do not matter, but a dirty page would be written first.
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

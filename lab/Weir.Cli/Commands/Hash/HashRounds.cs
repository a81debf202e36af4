using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;

namespace Weir.Cli.Commands.Hash;

/// <summary>The rounds of one order, one after the other in this process.</summary>
internal static class HashRounds
{
    private const int WarmUpBytes = 64 * 1024;
    private const int WarmUpFiles = 32;

    public static async IAsyncEnumerable<MeasureAnswer> RunAsync(HashOrder order, [EnumeratorCancellation] CancellationToken stop)
    {
        await WarmUpAsync(order);
        for (int i = 0; i < order.Rounds && !stop.IsCancellationRequested; i++)
        {
            RoundRecord? round;
            try
            {
                round = await HashRound.RunAsync(order, stop);
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
                round = null;
            }

            if (round is null)
            {
                // Before anything was measured.
                yield break;
            }

            yield return new MeasureAnswer(round);
        }
    }

    /// <summary>Makes the small files of the warm-up. Once for all rounds: making and flushing them takes longer than the warm-up on them.</summary>
    /// <param name="directory">Where. It is removed by the caller.</param>
    /// <param name="stop">Stops it.</param>
    public static void MakeWarmUpFiles(string directory, CancellationToken stop) =>
        RandomFiles.Ensure(directory, WarmUpFiles, WarmUpBytes, static _ => { }, stop);

    // Warms the code up on small files, so that nothing is compiled in a measured round.
    private static async Task WarmUpAsync(HashOrder order)
    {
        HashOrder small = order with
        {
            Directory = order.WarmUpDirectory, Files = WarmUpFiles, FileSize = WarmUpBytes, Workers = 1, InFlight = null,
        };
        await HashRound.RunAsync(small, CancellationToken.None);
    }
}

/// <summary>What a measuring process is to do: some rounds of one arm.</summary>
internal sealed record HashOrder
{
    public required string Directory { get; init; }

    /// <summary>Where the small files are that the code is warmed up on.</summary>
    public string WarmUpDirectory { get; init; } = "";

    public required int Files { get; init; }

    public required long FileSize { get; init; }

    public HashArm Arm { get; init; }

    public required CacheMode Cache { get; init; }

    public int Workers { get; init; }

    /// <summary>Bytes of one read.</summary>
    public int Buffer { get; init; }

    /// <summary>The most files under way at once; <see langword="null"/> for no limit but the workers.</summary>
    public int? InFlight { get; init; }

    /// <summary>The number of threads that the pool creates without delay; <see langword="null"/> for its default.</summary>
    public int? MinThreads { get; init; }

    /// <summary>How many rounds.</summary>
    public int Rounds { get; init; } = 1;

    /// <summary>Whether the reads go past the page cache.</summary>
    public bool IsDirect => Arm == HashArm.Direct || Cache == CacheMode.Direct;

    public string PathOf(int index) => RandomFiles.PathOf(Directory, index);
}

/// <summary>A way to hash the files.</summary>
internal enum HashArm
{
    /// <summary>Dedicated threads that read and hash, blocking.</summary>
    Sync,

    /// <summary>Dedicated threads, each of which waits while its files are read and hashed asynchronously.</summary>
    Async,

    /// <summary>Dedicated threads that read past the page cache.</summary>
    Direct,

    /// <summary>The asynchronous code under the library's own loop; no thread of ours.</summary>
    ForEach,
}

/// <summary>What the page cache holds of the files when a round begins.</summary>
internal enum CacheMode
{
    /// <summary>Nothing: the files are dropped from it.</summary>
    Drop,

    /// <summary>Everything: the files are read once before.</summary>
    Warm,

    /// <summary>Irrelevant: all reads bypass the cache.</summary>
    Direct,
}

/// <summary>One round in this process: all files once, with proof of where their bytes came from.</summary>
/// <remarks>
/// The files are one set of operations, which the workers share until it is empty (<see cref="WholeOperations.Together"/>); the peer is one operation that
/// hashes them all. Before the window, <see cref="IWorkload.BeginRoundAsync"/> brings the page cache into its state. What the device reads is counted from
/// <see cref="IWorkload.WorkersStarting"/> to <see cref="IWorkload.WorkersEnded"/>.
/// </remarks>
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

/// <summary>What one worker did. Only that worker writes to it; others may read the count at any time.</summary>
internal sealed class FileTally
{
    private long _files;
    private long _last;

    /// <summary>How long each file took.</summary>
    public LatencyHistogram Latency { get; } = new();

    /// <summary>The files so far.</summary>
    public long Files => Volatile.Read(ref _files);

    /// <summary>The sum of all hashes, which does not depend on their order.</summary>
    public ulong Checksum { get; private set; }

    /// <summary>The longest time without the end of a file, in nanoseconds.</summary>
    public long LongestGap { get; private set; }

    /// <summary>The round begins.</summary>
    public void Begin(long start) => _last = start;

    /// <summary>Counts a file.</summary>
    public void Done(long begun, byte[] hash)
    {
        long now = Stopwatch.GetTimestamp();
        Latency.Record(Clock.Nanoseconds(begun, now));
        LongestGap = Math.Max(LongestGap, Clock.Nanoseconds(_last, now));
        _last = now;
        Checksum = unchecked(Checksum + BinaryPrimitives.ReadUInt64LittleEndian(hash) + (31 * BinaryPrimitives.ReadUInt64LittleEndian(hash.AsSpan(8))));
        Volatile.Write(ref _files, _files + 1);
    }
}

/// <summary>Hashes one file at a time. Each worker has its own hasher, with one buffer for all its files.</summary>
/// <remarks>
/// If the buffer has the size that the platform's own call uses, that call is made, so that the measurement covers the code that people write.
/// </remarks>
[SuppressMessage("Security", "CA5351:Do Not Use Broken Cryptographic Algorithms", Justification = "It is work to measure, and protects nothing.")]
internal sealed class FileHasher : IDisposable
{
    /// <summary>The bytes that <see cref="MD5.HashData(Stream)"/> reads at once.</summary>
    public const int PlatformBuffer = 4096;

    private readonly HashOrder _order;
    private readonly IncrementalHash? _hash;
    private readonly Memory<byte> _buffer;
    private readonly IDisposable? _aligned;

    public FileHasher(HashOrder order)
    {
        _order = order;
        if (order.IsDirect)
        {
            AlignedBuffer aligned = new(order.Buffer);
            (_aligned, _buffer) = (aligned, aligned.Memory);
        }
        else if (order.Buffer != PlatformBuffer)
        {
            _buffer = new byte[order.Buffer];
        }

        _hash = _buffer.IsEmpty ? null : IncrementalHash.CreateHash(HashAlgorithmName.MD5);
    }

    /// <summary>Hashes a file, blocking.</summary>
    public byte[] Hash(string path)
    {
        if (_hash is null)
        {
            using FileStream stream = File.Open(path, FileMode.Open, FileAccess.Read, FileShare.None);
            return MD5.HashData(stream);
        }

        using SafeFileHandle handle = Open(path);
        long offset = 0;
        int read;
        while ((read = RandomAccess.Read(handle, _buffer.Span, offset)) > 0)
        {
            _hash.AppendData(_buffer.Span[..read]);
            offset += read;

            // Only the last read is short; one after it would start at an odd offset.
            if (_order.IsDirect && read < _buffer.Length)
            {
                break;
            }
        }

        return _hash.GetHashAndReset();
    }

    /// <summary>Hashes a file without blocking the caller.</summary>
    public async Task<byte[]> HashAsync(string path, CancellationToken stop)
    {
        if (_hash is null)
        {
            await using FileStream stream = File.Open(path, FileMode.Open, FileAccess.Read, FileShare.None);
            return await MD5.HashDataAsync(stream, stop);
        }

        using SafeFileHandle handle = Open(path);
        long offset = 0;
        int read;
        while ((read = await RandomAccess.ReadAsync(handle, _buffer, offset, stop)) > 0)
        {
            _hash.AppendData(_buffer.Span[..read]);
            offset += read;
            if (_order.IsDirect && read < _buffer.Length)
            {
                break;
            }
        }

        return _hash.GetHashAndReset();
    }

    public void Dispose()
    {
        _hash?.Dispose();
        _aligned?.Dispose();
    }

    private SafeFileHandle Open(string path) => _order.IsDirect
        ? PageCache.OpenDirect(path)
        : File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.None);
}

/// <summary>Samples a running round on its own thread: how many reads wait in the kernel, and how the round progresses.</summary>
internal sealed class RoundSampler : IDisposable
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(5);
    private static readonly TimeSpan PointPeriod = TimeSpan.FromMilliseconds(100);
    private const int MostPoints = 120;

    private readonly Func<long> _done;
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _stop = new();
    private readonly List<TimelineRecord> _points = [];
    private long _sum;
    private int _samples;
    private int _max;

    private RoundSampler(Func<long> done)
    {
        _done = done;
        _thread = new Thread(Run) { IsBackground = true, Name = "sampler" };
    }

    /// <summary>Reads that waited in the kernel, on average; <see langword="null"/> if it cannot be observed.</summary>
    public double? Average => _samples > 0 ? (double)_sum / _samples : null;

    /// <summary>The most reads that waited in the kernel; <see langword="null"/> if it cannot be observed.</summary>
    public double? Max => _samples > 0 ? _max : null;

    /// <summary>Starts to look.</summary>
    /// <param name="done">How many operations have ended up to now.</param>
    public static RoundSampler Start(Func<long> done)
    {
        RoundSampler sampler = new(done);
        sampler._thread.Start();
        return sampler;
    }

    /// <summary>Stops sampling, and returns the course of the round in at most 120 points.</summary>
    public IReadOnlyList<TimelineRecord> Stop()
    {
        _stop.Set();
        _thread.Join();
        return Thinned(_points, MostPoints);
    }

    public void Dispose() => _stop.Dispose();

    /// <summary>Joins neighbours until there are few enough.</summary>
    internal static IReadOnlyList<TimelineRecord> Thinned(IReadOnlyList<TimelineRecord> points, int most)
    {
        int group = (points.Count + most - 1) / most;
        if (group <= 1)
        {
            return points;
        }

        List<TimelineRecord> thinned = [];
        double begin = 0;
        foreach (TimelineRecord[] joined in points.Chunk(group))
        {
            double operations = 0;
            double from = begin;
            foreach (TimelineRecord point in joined)
            {
                operations += point.Rate * (point.Second - from);
                from = point.Second;
            }

            TimelineRecord last = joined[^1];
            thinned.Add(new TimelineRecord(last.Second, operations / (last.Second - begin), joined.Sum(static p => p.GcPauseMs), last.PoolThreads));
            begin = last.Second;
        }

        return thinned;
    }

    private void Run()
    {
        using KernelReads? reads = KernelReads.TryOpen();
        long start = Stopwatch.GetTimestamp();
        long pointAt = start;
        long doneAt = _done();
        TimeSpan pauseAt = GC.GetTotalPauseDuration();
        bool stopped;
        do
        {
            stopped = _stop.Wait(Period);
            if (reads is not null && !stopped)
            {
                int count = reads.Count();
                _sum += count;
                _samples++;
                _max = Math.Max(_max, count);
            }

            long now = Stopwatch.GetTimestamp();
            double length = Clock.Nanoseconds(pointAt, now) / 1e9;
            if (length >= PointPeriod.TotalSeconds)
            {
                long done = _done();
                TimeSpan pause = GC.GetTotalPauseDuration();
                _points.Add(new TimelineRecord(
                    Clock.Nanoseconds(start, now) / 1e9,
                    (done - doneAt) / length,
                    (pause - pauseAt).TotalMilliseconds,
                    ThreadPool.ThreadCount));
                (pointAt, doneAt, pauseAt) = (now, done, pause);
            }
        }
        while (!stopped);
    }
}

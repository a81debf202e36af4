using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.ExceptionServices;
using System.Threading.Channels;
using Weir.Lab.Workers;

namespace Weir.Cli.Commands.Hash;

/// <summary>The workers of one round: they take paths from one channel, as fast as they can, until it is empty.</summary>
internal sealed class HashWorkers : IDisposable
{
    private readonly HashOrder _order;
    private readonly ChannelReader<string> _paths;
    private readonly SemaphoreSlim? _limit;
    private readonly CancellationToken _stop;
    private readonly ConcurrentBag<FileHasher> _free = [];
    private readonly ConcurrentBag<(FileHasher Hasher, FileTally Tally)> _slots = [];
    private ExceptionDispatchInfo? _error;

    public HashWorkers(HashOrder order, CancellationToken stop)
    {
        _order = order;
        _stop = stop;
        _limit = order.InFlight is { } limit ? new SemaphoreSlim(limit, limit) : null;
        Channel<string> channel = Channel.CreateUnbounded<string>();
        for (int i = 0; i < order.Files; i++)
        {
            channel.Writer.TryWrite(order.PathOf(i));
        }

        channel.Writer.Complete();
        _paths = channel.Reader;
    }

    /// <summary>The tally of each worker. Under the library's loop there are no workers but as many slots.</summary>
    public IReadOnlyList<FileTally> Tallies { get; private set; } = [];

    /// <summary>How many files are open at once.</summary>
    public InFlightMeter Open { get; } = new();

    /// <summary>The files that are done.</summary>
    public long Done => Tallies.Sum(static t => t.Files);

    /// <summary>Does all files, and returns how long that took, in timestamp units, from the opening of the gate to the end of the last worker.</summary>
    /// <param name="started">Called when all workers are ready, just before the gate opens.</param>
    public async Task<long> RunAsync(Action started)
    {
        FileHasher[] hashers = [.. Enumerable.Range(0, _order.Workers).Select(_ => new FileHasher(_order))];
        Array.ForEach(hashers, _free.Add);
        Tallies = [.. hashers.Select(static _ => new FileTally())];
        long start;
        if (_order.Arm == HashArm.ForEach)
        {
            for (int i = 0; i < hashers.Length; i++)
            {
                _slots.Add((hashers[i], Tallies[i]));
            }

            started();
            start = Begin();
            await _paths.ForEachParallelAsync(
                (path, token) => new ValueTask(InSlotAsync(path)),
                new ParallelRunOptions { MaxDegreeOfParallelism = _order.Workers },
                CancellationToken.None).ConfigureAwait(false);
        }
        else
        {
            start = RunThreads(hashers, started);
        }

        long end = Stopwatch.GetTimestamp();
        _error?.Throw();
        return end - start;
    }

    public void Dispose()
    {
        _limit?.Dispose();
        foreach (FileHasher hasher in _free)
        {
            hasher.Dispose();
        }
    }

    private long RunThreads(FileHasher[] hashers, Action started)
    {
        using CountdownEvent ready = new(hashers.Length);
        using ManualResetEventSlim gate = new();
        Thread[] threads = [.. Enumerable.Range(0, hashers.Length).Select(i => new Thread(() =>
        {
            ready.Signal();
            gate.Wait();
            try
            {
                WorkAsync(hashers[i], Tallies[i]).GetAwaiter().GetResult();
            }
            catch (Exception e)
            {
                _error ??= ExceptionDispatchInfo.Capture(e);
            }
        })
        {
            IsBackground = true,
            Name = $"worker {i}",
        })];
        Array.ForEach(threads, static thread => thread.Start());

        // Without a gate, the first of many threads would have done files before the last is there.
        ready.Wait();
        started();
        long start = Begin();
        gate.Set();
        Array.ForEach(threads, static thread => thread.Join());
        return start;
    }

    private long Begin()
    {
        long start = Stopwatch.GetTimestamp();
        foreach (FileTally tally in Tallies)
        {
            tally.Begin(start);
        }

        return start;
    }

    private async Task WorkAsync(FileHasher hasher, FileTally tally)
    {
        while (!_stop.IsCancellationRequested && _error is null && _paths.TryRead(out string? path))
        {
            if (_order.Arm == HashArm.Async)
            {
                await OneAsync(path, hasher, tally).ConfigureAwait(false);
            }
            else
            {
                One(path, hasher, tally);
            }
        }
    }

    private async Task InSlotAsync(string path)
    {
        if (_stop.IsCancellationRequested || !_slots.TryTake(out (FileHasher Hasher, FileTally Tally) slot))
        {
            return;
        }

        await OneAsync(path, slot.Hasher, slot.Tally).ConfigureAwait(false);
        _slots.Add(slot);
    }

    private void One(string path, FileHasher hasher, FileTally tally)
    {
        _limit?.Wait(_stop);
        long begun = Stopwatch.GetTimestamp();
        Open.Enter();
        try
        {
            tally.Done(begun, hasher.Hash(path));
        }
        finally
        {
            Open.Exit();
            _limit?.Release();
        }
    }

    private async Task OneAsync(string path, FileHasher hasher, FileTally tally)
    {
        if (_limit is not null)
        {
            await _limit.WaitAsync(_stop).ConfigureAwait(false);
        }

        long begun = Stopwatch.GetTimestamp();
        Open.Enter();
        try
        {
            tally.Done(begun, await hasher.HashAsync(path, CancellationToken.None).ConfigureAwait(false));
        }
        finally
        {
            Open.Exit();
            _limit?.Release();
        }
    }
}

namespace Weir.Cli.Commands.Load.Watch;

/// <summary>Counts the items of one arm around the work itself, in the same way for runtimes and peers.</summary>
internal sealed class WatchMeter
{
    // Threads that share a stripe only contend for its cache line.
    private const int Stripes = 8;
    private const int Pad = 16;

    private readonly LatencyHistogram[] _latencies = [.. Enumerable.Range(0, Stripes).Select(static _ => new LatencyHistogram())];
    private readonly long[] _begun = new long[Stripes * Pad];
    private readonly long[] _ended = new long[Stripes * Pad];
    private readonly long[] _errors = new long[Stripes * Pad];

    /// <summary>Items whose work has ended, with a result or an error.</summary>
    public long Ended => Sum(_ended);

    public long Errors => Sum(_errors);

    /// <summary>Items that are running. The ended items are read first, so items that end meanwhile never make it too low.</summary>
    public long InFlight
    {
        get
        {
            long ended = Ended;
            return Math.Max(0, Sum(_begun) - ended);
        }
    }

    /// <summary>The latencies so far, while others may be added.</summary>
    public LatencyHistogram Latencies()
    {
        LatencyHistogram all = new();
        foreach (LatencyHistogram stripe in _latencies)
        {
            all.Merge(stripe);
        }

        return all;
    }

    /// <summary>Forgets the latencies and the errors, for the next window. Called while nothing runs.</summary>
    public void Clear()
    {
        foreach (LatencyHistogram stripe in _latencies)
        {
            stripe.Clear();
        }

        Array.Clear(_errors);
    }

    /// <summary>The work, counted and timed.</summary>
    public Func<int, CancellationToken, ValueTask<int>> Around(Func<int, CancellationToken, ValueTask<int>> processor) => (item, cancellationToken) =>
    {
        int stripe = Begin();
        long started = Stopwatch.GetTimestamp();
        ValueTask<int> pending;
        try
        {
            pending = processor(item, cancellationToken);
        }
        catch
        {
            End(stripe, started, failed: true);
            throw;
        }

        if (!pending.IsCompletedSuccessfully)
        {
            return FinishAsync(pending, stripe, started);
        }

        // A value task is read once.
        int result = pending.Result;
        End(stripe, started, failed: result == LoadWork.Failed);
        return new ValueTask<int>(result);
    };

    private async ValueTask<int> FinishAsync(ValueTask<int> pending, int stripe, long started)
    {
        bool failed = true;
        try
        {
            int result = await pending;
            failed = result == LoadWork.Failed;
            return result;
        }
        finally
        {
            End(stripe, started, failed);
        }
    }

    private int Begin()
    {
        int stripe = Environment.CurrentManagedThreadId % Stripes;
        Interlocked.Increment(ref _begun[stripe * Pad]);
        return stripe;
    }

    private void End(int stripe, long started, bool failed)
    {
        _latencies[stripe].RecordShared(Clock.Nanoseconds(started, Stopwatch.GetTimestamp()));
        if (failed)
        {
            Interlocked.Increment(ref _errors[stripe * Pad]);
        }

        Interlocked.Increment(ref _ended[stripe * Pad]);
    }

    private static long Sum(long[] stripes)
    {
        long sum = 0;
        for (int i = 0; i < Stripes; i++)
        {
            sum += Volatile.Read(ref stripes[i * Pad]);
        }

        return sum;
    }
}

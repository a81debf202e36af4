using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The unused handles of a block, kept for its next calls.</summary>
/// <remarks>
/// With one call at a time, <c>_kept</c> has one user and needs no exchange: a call ends before the next one takes its handle. With several, a handle is taken
/// by an exchange, because two calls with the same handle would end each other. It is put back with a plain write to a place that looked free. There, the worst
/// that a race does is to lose a handle to the garbage collector.
/// </remarks>
internal struct CallHandles<TIn>
{
    /// <summary>When more calls than this are in flight, the others create their own handles.</summary>
    private const int Most = 16;

    /// <summary>A handle if there is one call at a time; otherwise an array of handles. It is one field, because most blocks need neither.</summary>
    private object? _kept;

    /// <summary>A handle for a call of this block.</summary>
    public CallHandle<TIn> Take(ExecCore<TIn> owner)
    {
        object? kept = Volatile.Read(ref _kept);
        if (kept is CallHandle<TIn> only)
        {
            // This is the only call.
            _kept = null;
            return only;
        }

        if (kept is CallHandle<TIn>?[] several)
        {
            for (int i = 0; i < several.Length; i++)
            {
                if (Volatile.Read(ref several[i]) is not null && Interlocked.Exchange(ref several[i], null) is { } other)
                {
                    return other;
                }
            }
        }

        MemoryPoint.Pass(typeof(CallHandle<TIn>));
        return new CallHandle<TIn>(owner);
    }

    /// <summary>Takes a handle back. If two threads return one to the same place at the same time, one handle is lost.</summary>
    public void Keep(CallHandle<TIn> handle, int parallelism)
    {
        if (parallelism == 1)
        {
            Volatile.Write(ref _kept, handle);
            return;
        }

        CallHandle<TIn>?[] several = (CallHandle<TIn>?[])(Volatile.Read(ref _kept)
            ?? Interlocked.CompareExchange(ref _kept, new CallHandle<TIn>?[Math.Min(parallelism, Most)], null)
            ?? _kept);
        for (int i = 0; i < several.Length; i++)
        {
            if (Volatile.Read(ref several[i]) is null)
            {
                Volatile.Write(ref several[i], handle);
                return;
            }
        }
    }
}

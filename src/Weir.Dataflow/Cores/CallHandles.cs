namespace Weir.Dataflow.Cores;

/// <summary>The handles of a block that are not in use, kept for its next calls.</summary>
internal struct CallHandles<TIn>
{
    /// <summary>More calls than this in flight make handles of their own.</summary>
    private const int Most = 16;

    private CallHandle<TIn>? _first;
    private CallHandle<TIn>?[]? _others;

    /// <summary>A handle for a call of this block.</summary>
    public CallHandle<TIn> Take(ICallOwner<TIn> owner)
    {
        if (Volatile.Read(ref _first) is not null && Interlocked.Exchange(ref _first, null) is { } first)
        {
            return first;
        }

        CallHandle<TIn>?[]? others = Volatile.Read(ref _others);
        for (int i = 0; others is not null && i < others.Length; i++)
        {
            if (Volatile.Read(ref others[i]) is not null && Interlocked.Exchange(ref others[i], null) is { } other)
            {
                return other;
            }
        }

        return new CallHandle<TIn>(owner);
    }

    /// <summary>Takes a handle back. Of two that come to one place at the same time, one is lost.</summary>
    public void Keep(CallHandle<TIn> handle, int parallelism)
    {
        if (parallelism == 1 || Volatile.Read(ref _first) is null)
        {
            Volatile.Write(ref _first, handle);
            return;
        }

        CallHandle<TIn>?[] others = Volatile.Read(ref _others)
            ?? Interlocked.CompareExchange(ref _others, new CallHandle<TIn>?[Math.Min(parallelism, Most) - 1], null)
            ?? _others;
        for (int i = 0; i < others.Length; i++)
        {
            if (Volatile.Read(ref others[i]) is null)
            {
                Volatile.Write(ref others[i], handle);
                return;
            }
        }
    }
}

using Weir.Core.Sinks;

namespace Weir.Observability;

/// <summary>Wraps a sink and notifies the spans when an item has ended.</summary>
internal readonly struct TracedSink<TResult, TSink>(TSink inner, RunTrace trace) : ISink<TResult>
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => false;

    public long Ceiling => _inner.Ceiling;

    public long Undelivered(long ended) => _inner.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public void Succeeded(long index, TResult result)
    {
        trace.ItemEnded(index, ItemStatus.Succeeded, null);
        _inner.Succeeded(index, result);
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        trace.ItemEnded(index, status, error);
        _inner.Unsuccessful(index, status, error);
    }

    public void Complete(RunEnd end) => _inner.Complete(end);
}

using Weir.Core.Sources;

namespace Weir.Core.Sinks;

/// <summary>Wraps a sink and notifies the lanes when an item has ended.</summary>
internal readonly struct LaneSink<TResult, TSink>(TSink inner, ILanes lanes) : ISink<TResult>
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => false;

    public long Ceiling => _inner.Ceiling;

    public long Undelivered(long ended) => _inner.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public void Succeeded(long index, TResult result)
    {
        _inner.Succeeded(index, result);
        lanes.ItemEnded(index);
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        _inner.Unsuccessful(index, status, error);
        lanes.ItemEnded(index);
    }

    public void Complete(RunEnd end) => _inner.Complete(end);
}

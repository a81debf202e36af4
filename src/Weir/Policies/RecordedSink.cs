using Weir.Core.Sinks;

namespace Weir.Policies;

/// <summary>Wraps a sink, and ends the records of items that have their outcome.</summary>
internal readonly struct RecordedSink<TResult, TSink>(TSink inner, ItemRecords records) : ISink<TResult>
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
        records.End(index);
    }

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        _inner.Unsuccessful(index, status, error);
        records.End(index, status);
    }

    public void Complete(RunEnd end) => _inner.Complete(end);
}

using System.Runtime.CompilerServices;
using Weir.Core.Sinks;

namespace Weir.Observability;

/// <summary>Wraps a sink and delays its completion until the last report has been made.</summary>
internal readonly struct ObservedSink<TResult, TSink>(TSink inner, RunObservation observation) : ISink<TResult>
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => _inner.HasSlots;

    public long Ceiling => _inner.Ceiling;

    public Span<TResult> Slots(long first, int count) => _inner.Slots(first, count);

    public long Undelivered(long ended) => _inner.Undelivered(ended);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _inner.Succeeded(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error)
    {
        _inner.Unsuccessful(index, status, error);
        observation.ItemEnded(index, status, error);
    }

    public void Complete(RunEnd end)
    {
        TSink sink = _inner;
        observation.End(end, sink.Complete);
    }
}

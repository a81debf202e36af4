using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <summary>Wraps a sink and ends the call: its deadline is switched off, and its runtime no longer counts it.</summary>
internal readonly struct RuntimeSink<TResult, TSink>(TSink inner, CallEnd end) : ISink<TResult>
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => false;

    public long Ceiling
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _inner.Ceiling;
    }

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _inner.Succeeded(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _inner.Unsuccessful(index, status, error);

    public void Complete(RunEnd runEnd)
    {
        end.Set();
        _inner.Complete(runEnd);
    }
}

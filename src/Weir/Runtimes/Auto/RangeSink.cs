using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <summary>Receives ranges that ended or were given up, and hands on their items' outcomes.</summary>
internal readonly struct RangeSink<TItem, TResult>(AutoCall<TItem, TResult> call) : ISink<ItemRange<TItem, TResult>>
{
    public bool HasSlots => false;

    public long Ceiling => call.Ceiling;

    public Span<ItemRange<TItem, TResult>> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    public void Succeeded(long index, ItemRange<TItem, TResult> result) => result.End();

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => call.At(index).GiveUp(status, error);

    public void Complete(RunEnd end) => call.Complete(end);
}

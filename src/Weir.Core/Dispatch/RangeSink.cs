using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>Receives ranges that ended or were given up, and hands on their items' outcomes.</summary>
internal readonly struct RangeSink(IRanges ranges) : ISink<WorkRange>
{
    private readonly IRanges _ranges = ranges;

    public bool HasSlots => false;

    public long Ceiling => _ranges.Ceiling;

    public Span<WorkRange> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    public void Succeeded(long index, WorkRange result) => result.End();

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _ranges.GiveUp(index, status, error);

    public void Complete(RunEnd end) => _ranges.Complete(end);
}

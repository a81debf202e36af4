using Weir.Core.Sinks;

namespace Weir.Policies;

/// <summary>Wraps a sink of outcomes, and gives it outcomes with details.</summary>
/// <param name="inner">The sink.</param>
/// <param name="records">The records of the run's items.</param>
/// <param name="count">The number of items; negative for those that were read.</param>
internal readonly struct DetailedSink<TResult, TSink>(TSink inner, ItemRecords records, int count) : ISink<TResult>
    where TSink : struct, IOutcomeSink<TResult>
{
    private readonly TSink _inner = inner;

    public bool HasSlots => false;

    public long Ceiling => _inner.Ceiling;

    public long Undelivered(long ended) => _inner.Undelivered(ended);

    public Span<TResult> Slots(long first, int count) => default;

    public void Succeeded(long index, TResult result) =>
        _inner.Add(index, ItemOutcome<TResult>.With(result, ItemStatus.Succeeded, records.DetailsOf(index, null)));

    public void Unsuccessful(long index, ItemStatus status, Exception? error) =>
        _inner.Add(index, ItemOutcome<TResult>.With(default, status, records.DetailsOf(index, error)));

    public void Complete(RunEnd end)
    {
        if (_inner.ReturnsNotRun(end))
        {
            foreach ((long first, int length) in end.LeftOver)
            {
                AddNotRun(first, first + length);
            }

            AddNotRun(end.Claimed, count);
        }

        _inner.Complete(end);
    }

    private void AddNotRun(long from, long to)
    {
        for (long index = from; index < to; index++)
        {
            Unsuccessful(index, ItemStatus.NotRun, null);
        }
    }
}

using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Stores one outcome per item, by index, for a source whose count is not known before the end.</summary>
internal readonly struct GrowingOutcomeSink<TResult>(OutcomeCompletion<TResult> completion) : IOutcomeSink<TResult>
{
    private readonly OutcomeCompletion<TResult> _completion = completion;
    private readonly Segments<ItemOutcome<TResult>> _segments = new();

    public bool HasSlots => false;

    public long Ceiling => int.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _segments[index] = ItemOutcome<TResult>.Success(result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) =>
        _segments[index] = ItemOutcome<TResult>.Without(status, error);

    public void Add(long index, ItemOutcome<TResult> outcome) => _segments[index] = outcome;

    public bool ReturnsNotRun(RunEnd end) => _completion.Returns(end);

    public void Complete(RunEnd end) =>
        _completion.Complete(end, _segments, static (end, segments) => segments.ToArray((int)end.Claimed));
}

using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Stores one outcome per item, by index, for a source whose count is not known before the end.</summary>
internal readonly struct GrowingOutcomeSink<TItem, TResult>(
    OutcomeCompletion<TItem, TResult> completion, OutcomeMaker<TItem, TResult> maker = default) : ISink<TResult>
{
    private readonly OutcomeCompletion<TItem, TResult> _completion = completion;
    private readonly OutcomeMaker<TItem, TResult> _maker = maker;
    private readonly Segments<ItemOutcome<TItem, TResult>> _segments = new();

    public bool HasSlots => false;

    // Not the most that a list may have: the run would wait there for room, and says at its end, or earlier, that there are too many.
    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _segments[index] = _maker.Success(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _segments[index] = _maker.Without(index, status, error);

    public void Complete(RunEnd end)
    {
        if (end.HasNeverRun(-1) && _completion.Returns(end))
        {
            foreach (long index in end.NeverRun(-1))
            {
                Unsuccessful(index, ItemStatus.NotRun, null);
            }
        }

        _completion.Complete(end, _segments, static (end, segments) => segments.ToArray(end.Claimed));
    }
}

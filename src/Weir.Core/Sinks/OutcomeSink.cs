using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Stores one outcome per item, by index, for a source whose count is known.</summary>
internal readonly struct OutcomeSink<TItem, TResult>(
    OutcomeCompletion<TItem, TResult> completion, OutcomeMaker<TItem, TResult> maker = default) : ISink<TResult>
{
    private readonly OutcomeCompletion<TItem, TResult> _completion = completion;
    private readonly ItemOutcome<TItem, TResult>[] _outcomes = completion.Outcomes;
    private readonly OutcomeMaker<TItem, TResult> _maker = maker;

    public bool HasSlots => false;

    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _outcomes[index] = _maker.Success(index, result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) => _outcomes[index] = _maker.Without(index, status, error);

    public void Complete(RunEnd end)
    {
        if (end.HasNeverRun(_outcomes.Length) && _completion.Returns(end))
        {
            foreach (long index in end.NeverRun(_outcomes.Length))
            {
                Unsuccessful(index, ItemStatus.NotRun, null);
            }
        }

        _completion.Complete(end);
    }
}

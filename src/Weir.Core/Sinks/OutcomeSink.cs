using System.Runtime.CompilerServices;

namespace Weir.Core.Sinks;

/// <summary>Stores one outcome per item, by index, for a source whose count is known. Slots that are never written mean "not run".</summary>
internal readonly struct OutcomeSink<TResult>(OutcomeCompletion<TResult> completion) : IOutcomeSink<TResult>
{
    private readonly OutcomeCompletion<TResult> _completion = completion;
    private readonly ItemOutcome<TResult>[] _outcomes = completion.Outcomes;

    public bool HasSlots => false;

    public long Ceiling => long.MaxValue;

    public Span<TResult> Slots(long first, int count) => default;

    public long Undelivered(long ended) => 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(long index, TResult result) => _outcomes[index] = ItemOutcome<TResult>.Success(result);

    public void Unsuccessful(long index, ItemStatus status, Exception? error) =>
        _outcomes[index] = ItemOutcome<TResult>.Without(status, error);

    public void Add(long index, ItemOutcome<TResult> outcome) => _outcomes[index] = outcome;

    public bool ReturnsNotRun(RunEnd end) => _completion.Returns(end);

    public void Complete(RunEnd end) => _completion.Complete(end);
}

using Weir.Core;
using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <summary>A call whose outcomes are one array: workers write them directly to their places.</summary>
/// <remarks>
/// An abandoned call may write its item's outcome at any time, and nobody else writes there. So once an item has been given up, the caller gets a different
/// array from the one that abandoned calls know. The outcomes of the items that were given up are copied into it from a list.
/// </remarks>
internal sealed class AutoArrayCall<TItem, TResult>(
    OutcomeCompletion<TResult> completion,
    RuntimeCalls calls,
    string operation,
    ProcessManyOptions options,
    AutoPilot pilot,
    Func<TItem, CancellationToken, ValueTask<TResult>> processor,
    AutoProfiles profiles,
    Action<AutoCall> ended)
    : AutoCall<TItem, TResult>(calls, operation, options, pilot, processor, profiles, ended)
{
    private readonly Lock _lock = new();
    private List<(long Index, ItemOutcome<TResult> Outcome)>? _givenUp;

    public override long Ceiling => long.MaxValue;

    public override ItemOutcome<TResult>[] Slots { get; } = completion.Outcomes;

    public override void Store(long first, ItemOutcome<TResult>[] outcomes, int offset, int count)
    {
        // The outcomes are already in their places.
    }

    public override void StoreGivenUp(long index, ItemStatus status, Exception? error)
    {
        CountGivenUp(status);
        using (_lock.Hold())
        {
            _givenUp ??= [];
            _givenUp.Add((index, ItemOutcome<TResult>.Without(status, error)));
        }
    }

    protected override void CompleteSink(RunEnd end)
    {
        if (_givenUp is null)
        {
            completion.Complete(end);
            return;
        }

        completion.Complete(end, this, static (_, call) => call.WithGivenUp());
    }

    private ItemOutcome<TResult>[] WithGivenUp()
    {
        ItemOutcome<TResult>[] outcomes = [.. Slots];
        foreach ((long index, ItemOutcome<TResult> outcome) in _givenUp!)
        {
            outcomes[index] = outcome;
        }

        return outcomes;
    }
}

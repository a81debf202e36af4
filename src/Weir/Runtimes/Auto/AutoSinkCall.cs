using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <summary>A call whose outcomes go to a sink; to the slots of an array all at once, when there is one.</summary>
internal sealed class AutoCall<TItem, TResult, TSink>(
    TSink sink,
    ItemOutcome<TResult>[]? slots,
    RuntimeCalls calls,
    AutoPilot pilot,
    Func<TItem, CancellationToken, ValueTask<TResult>> processor,
    AutoProfiles profiles,
    Action<AutoCall> ended)
    : AutoCall<TItem, TResult>(calls, pilot, processor, profiles, ended)
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _sink = sink;

    public override long Ceiling => _sink.Ceiling;

    protected override void Store(long first, ReadOnlySpan<ItemOutcome<TResult>> outcomes)
    {
        if (slots is not null)
        {
            outcomes.CopyTo(slots.AsSpan((int)first));
            return;
        }

        for (int i = 0; i < outcomes.Length; i++)
        {
            ref readonly ItemOutcome<TResult> outcome = ref outcomes[i];
            if (outcome.IsSuccess)
            {
                _sink.Succeeded(first + i, outcome.Value);
            }
            else
            {
                _sink.Unsuccessful(first + i, outcome.Status, outcome.Error);
            }
        }
    }

    protected override void CompleteSink(RunEnd end) => _sink.Complete(end);
}

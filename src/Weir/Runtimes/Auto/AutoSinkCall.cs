using Weir.Core.Sinks;

namespace Weir.Runtimes;

/// <summary>A call whose outcomes go to a sink, one after the other.</summary>
internal sealed class AutoSinkCall<TItem, TResult, TSink>(
    TSink sink,
    RuntimeCalls calls,
    string operation,
    ProcessManyOptions options,
    AutoPilot pilot,
    Func<TItem, CancellationToken, ValueTask<TResult>> processor,
    AutoProfiles profiles,
    Action<AutoCall> ended)
    : AutoCall<TItem, TResult>(calls, operation, options, pilot, processor, profiles, ended)
    where TSink : struct, ISink<TResult>
{
    private readonly TSink _sink = sink;

    public override long Ceiling => _sink.Ceiling;

    public override ItemOutcome<TResult>[]? Slots => null;

    public override void Store(long first, ItemOutcome<TResult>[] outcomes, int offset, int count)
    {
        for (int i = 0; i < count; i++)
        {
            ref readonly ItemOutcome<TResult> outcome = ref outcomes[offset + i];
            if (outcome.IsSuccess)
            {
                _sink.Succeeded(first + i, outcome.Value);
            }
            else if (outcome.Status == ItemStatus.NotRun)
            {
                Source.Lose(first + i);
            }
            else
            {
                _sink.Unsuccessful(first + i, outcome.Status, outcome.Error);
            }
        }
    }

    public override void StoreGivenUp(long index, ItemStatus status, Exception? error)
    {
        CountGivenUp(status);
        _sink.Unsuccessful(index, status, error);
    }

    protected override void CompleteSink(RunEnd end) => _sink.Complete(end);
}

using Weir.Resilience;

namespace Weir;

/// <summary>A rule that does not look at the item.</summary>
internal sealed class ResultRetryRule<TResult>(Func<AttemptOutcome<TResult>, bool> shouldRetry, Func<AttemptOutcome<TResult>, TimeSpan?>? delayHint)
    : RetryRule<TResult>
{
    internal override Type? ItemType => null;

    public override bool ShouldRetry(object item, in AttemptOutcome<TResult> outcome) => shouldRetry(outcome);

    public override bool HasDelayHint => delayHint is not null;

    public override TimeSpan? DelayHint(object item, in AttemptOutcome<TResult> outcome) => delayHint!(outcome);
}

using Weir.Resilience;

namespace Weir;

/// <summary>A rule that looks at the item.</summary>
internal sealed class ItemRetryRule<TItem, TResult>(
    Func<TItem, AttemptOutcome<TResult>, bool> shouldRetry, Func<TItem, AttemptOutcome<TResult>, TimeSpan?>? delayHint) : RetryRule<TResult>
{
    internal override Type? ItemType => typeof(TItem);

    public override bool ShouldRetry(object item, in AttemptOutcome<TResult> outcome) => shouldRetry(((IWithItem<TItem>)item).Item, outcome);

    public override bool HasDelayHint => delayHint is not null;

    public override TimeSpan? DelayHint(object item, in AttemptOutcome<TResult> outcome) => delayHint!(((IWithItem<TItem>)item).Item, outcome);
}

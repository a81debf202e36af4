using Weir.Resilience;

namespace Weir;

/// <summary>A rule about results of one type.</summary>
internal abstract class RetryRule<TResult> : RetryRule
{
    internal override Type ResultType => typeof(TResult);

    /// <summary>Whether another attempt follows.</summary>
    /// <param name="item">What has the item.</param>
    /// <param name="outcome">How the attempt ended.</param>
    public abstract bool ShouldRetry(object item, in AttemptOutcome<TResult> outcome);

    /// <summary>Whether the rule knows delays, so that nothing else is asked.</summary>
    public abstract bool HasDelayHint { get; }

    public abstract TimeSpan? DelayHint(object item, in AttemptOutcome<TResult> outcome);
}

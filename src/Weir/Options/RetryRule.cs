using System.Diagnostics.CodeAnalysis;
using Weir.Resilience;

namespace Weir;

/// <summary>
/// Decides which attempts are followed by another, from their results or exceptions. Create it with
/// <see cref="Of{TResult}(Func{AttemptOutcome{TResult}, bool}, Func{AttemptOutcome{TResult}, TimeSpan?})"/>, for operators with results of that type.
/// </summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
public abstract class RetryRule
{
    private protected RetryRule()
    {
    }

    /// <summary>The type of the results, for messages.</summary>
    internal abstract Type ResultType { get; }

    /// <summary>The type of the items; null if the rule does not look at them.</summary>
    internal abstract Type? ItemType { get; }

    /// <summary>Creates a rule that looks at an attempt's result or exception and its number.</summary>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="shouldRetry">Whether another attempt follows. Called from several threads at once.</param>
    /// <param name="delayHint">
    /// Returns the delay that the result or exception asks for; <see langword="null"/> if it asks for none. Without this function,
    /// <see cref="Weir.Resilience.RetryOptions.DelayHint"/> is asked about exceptions.
    /// </param>
    /// <returns>The rule.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="shouldRetry"/> is <see langword="null"/>.</exception>
    public static RetryRule Of<TResult>(Func<AttemptOutcome<TResult>, bool> shouldRetry, Func<AttemptOutcome<TResult>, TimeSpan?>? delayHint = null)
    {
        ArgumentNullException.ThrowIfNull(shouldRetry);
        return new ResultRetryRule<TResult>(shouldRetry, delayHint);
    }

    /// <summary>Creates a rule that looks at the item too.</summary>
    /// <typeparam name="TItem">The type of the operator's items.</typeparam>
    /// <typeparam name="TResult">The type of the operator's results.</typeparam>
    /// <param name="shouldRetry">Whether another attempt follows. Called from several threads at once.</param>
    /// <param name="delayHint">
    /// Returns the delay that the result or exception asks for; <see langword="null"/> if it asks for none. Without this function,
    /// <see cref="Weir.Resilience.RetryOptions.DelayHint"/> is asked about exceptions.
    /// </param>
    /// <returns>The rule.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="shouldRetry"/> is <see langword="null"/>.</exception>
    public static RetryRule Of<TItem, TResult>(
        Func<TItem, AttemptOutcome<TResult>, bool> shouldRetry, Func<TItem, AttemptOutcome<TResult>, TimeSpan?>? delayHint = null)
    {
        ArgumentNullException.ThrowIfNull(shouldRetry);
        return new ItemRetryRule<TItem, TResult>(shouldRetry, delayHint);
    }

    /// <summary>Refuses a rule of another type of items or results.</summary>
    internal static void Check<TItem, TResult>(RetryRule rule)
    {
        if (rule.ResultType != typeof(TResult))
        {
            throw new ArgumentException(
                $"ShouldRetry is about results of type {rule.ResultType.Name}, but the results of this operator are of type {typeof(TResult).Name}.",
                nameof(ParallelRunOptions.ShouldRetry));
        }

        if (rule.ItemType is { } items && items != typeof(TItem))
        {
            throw new ArgumentException(
                $"ShouldRetry is about items of type {items.Name}, but the items here are of type {typeof(TItem).Name}.",
                nameof(ParallelRunOptions.ShouldRetry));
        }
    }

    /// <exception cref="ArgumentException">There are no results.</exception>
    internal static void ThrowIfSet(RetryRule? rule)
    {
        if (rule is not null)
        {
            throw new ArgumentException(
                "ShouldRetry must be null for an action, which has no results; IsTransient decides about its exceptions.",
                nameof(ParallelRunOptions.ShouldRetry));
        }
    }
}

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

/// <summary>A rule that does not look at the item.</summary>
internal sealed class ResultRetryRule<TResult>(Func<AttemptOutcome<TResult>, bool> shouldRetry, Func<AttemptOutcome<TResult>, TimeSpan?>? delayHint)
    : RetryRule<TResult>
{
    internal override Type? ItemType => null;

    public override bool ShouldRetry(object item, in AttemptOutcome<TResult> outcome) => shouldRetry(outcome);

    public override bool HasDelayHint => delayHint is not null;

    public override TimeSpan? DelayHint(object item, in AttemptOutcome<TResult> outcome) => delayHint!(outcome);
}

/// <summary>A rule that looks at the item.</summary>
internal sealed class ItemRetryRule<TItem, TResult>(
    Func<TItem, AttemptOutcome<TResult>, bool> shouldRetry, Func<TItem, AttemptOutcome<TResult>, TimeSpan?>? delayHint) : RetryRule<TResult>
{
    internal override Type? ItemType => typeof(TItem);

    public override bool ShouldRetry(object item, in AttemptOutcome<TResult> outcome) => shouldRetry(((IWithItem<TItem>)item).Item, outcome);

    public override bool HasDelayHint => delayHint is not null;

    public override TimeSpan? DelayHint(object item, in AttemptOutcome<TResult> outcome) => delayHint!(((IWithItem<TItem>)item).Item, outcome);
}

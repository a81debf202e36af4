using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

/// <summary>How long one call may take. Immutable.</summary>
/// <remarks>The values are checked when a <see cref="TimeoutPolicy{TResult}"/> is created from them.</remarks>
public sealed record TimeoutOptions
{
    /// <summary>The limit.</summary>
    /// <value>More than zero, at most 2^32 - 2 ms; <see cref="System.Threading.Timeout.InfiniteTimeSpan"/> for no limit. The default is 30 seconds.</value>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The clock.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        Require.Positive(Require.NoneIfInfinite(Timeout), nameof(Timeout));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>
/// A call did not end within its time limit, with all its attempts if there are several: the limit of a <see cref="TimeoutPolicy{TResult}"/>, or the
/// <c>TotalTimeout</c> of a chain. The inner exception of the <see cref="OperationCanceledException"/> that the caller gets.
/// </summary>
public sealed class CallTimeoutException : TimeoutException
{
    /// <summary>Creates the exception.</summary>
    public CallTimeoutException()
        : this("The call did not end within its time limit.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public CallTimeoutException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public CallTimeoutException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal CallTimeoutException(TimeSpan limit)
        : base($"The call did not end within its time limit of {limit}.") => Limit = limit;

    /// <summary>The limit; <see cref="TimeSpan.Zero"/> if it is not known.</summary>
    public TimeSpan Limit { get; }
}

/// <summary>
/// One attempt of a call or an item did not end within its time limit, <c>AttemptTimeout</c>: the inner exception of the
/// <see cref="OperationCanceledException"/> that the attempt ends with.
/// </summary>
public sealed class AttemptTimeoutException : TimeoutException
{
    // 0 until those who count attempts have numbered it. An exception from a chain inside a call comes numbered, and so keeps the number of that chain.
    private int _attempt;

    /// <summary>Creates the exception.</summary>
    public AttemptTimeoutException()
        : this("The attempt did not end within its time limit.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public AttemptTimeoutException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public AttemptTimeoutException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal AttemptTimeoutException(TimeSpan limit, int attempt, object? limitOf = null)
        : base($"The attempt did not end within its time limit of {limit}.")
    {
        Limit = limit;
        _attempt = attempt;
        LimitOf = limitOf;
    }

    /// <summary>Whose limit it was, if it was that of a run.</summary>
    internal object? LimitOf { get; }

    /// <summary>The limit; <see cref="TimeSpan.Zero"/> if it is not known.</summary>
    public TimeSpan Limit { get; }

    /// <summary>The number of the attempt, from 1.</summary>
    public int Attempt => Math.Max(1, _attempt);

    /// <inheritdoc/>
    public override string Message => Limit == TimeSpan.Zero ? base.Message : $"Attempt {Attempt} did not end within its time limit of {Limit}.";

    /// <summary>Tells the exception which attempt it is of, if nobody has told it yet.</summary>
    /// <param name="exception">What the attempt ended with. Another exception may have the time limit of another call as its cause.</param>
    /// <param name="attempt">The attempt's number.</param>
    internal static void Number(Exception exception, int attempt)
    {
        if (exception is AttemptCanceledException { Reason: { _attempt: 0 } reason })
        {
            reason._attempt = attempt;
        }
    }
}

/// <summary>What an attempt ends with that passed its limit. Its text is that of its reason, which may be told its number later.</summary>
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "It has a reason always.")]
[SuppressMessage("Design", "CA1064:Exceptions should be public", Justification = "For others it is a cancellation with a reason, as all time limits are.")]
internal sealed class AttemptCanceledException(AttemptTimeoutException reason) : TaskCanceledException(null, reason)
{
    public AttemptTimeoutException Reason => (AttemptTimeoutException)InnerException!;

    public override string Message => Reason.Message;
}

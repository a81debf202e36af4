namespace Weir.Resilience;

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

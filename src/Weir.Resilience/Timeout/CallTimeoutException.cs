namespace Weir.Resilience;

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

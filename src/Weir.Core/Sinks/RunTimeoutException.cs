namespace Weir;

/// <summary>
/// A run of a runtime did not end within its time limit, <c>TotalTimeout</c>: the inner exception of the <see cref="OperationCanceledException"/> that the
/// items end with which were running then.
/// </summary>
public sealed class RunTimeoutException : TimeoutException
{
    /// <summary>Creates the exception.</summary>
    public RunTimeoutException()
        : this("The run did not end within its batch's time limit.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public RunTimeoutException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public RunTimeoutException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal RunTimeoutException(TimeSpan limit)
        : base($"The run did not end within its batch's time limit of {limit}.") => Limit = limit;

    /// <summary>The limit; <see cref="TimeSpan.Zero"/> if it is not known.</summary>
    public TimeSpan Limit { get; }
}

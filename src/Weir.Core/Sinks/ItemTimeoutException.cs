namespace Weir;

/// <summary>
/// An item did not end within its time limit, <c>PerItemTimeout</c>: the inner exception of the <see cref="OperationCanceledException"/> that the item ends
/// with.
/// </summary>
public sealed class ItemTimeoutException : TimeoutException
{
    /// <summary>Creates the exception.</summary>
    public ItemTimeoutException()
        : this("The item did not end within its time limit.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public ItemTimeoutException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public ItemTimeoutException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal ItemTimeoutException(TimeSpan limit, long? index)
        : base($"{(index is null ? "The item" : $"Item {index}")} did not end within its time limit of {limit}.") => Limit = limit;

    /// <summary>The limit; <see cref="TimeSpan.Zero"/> if it is not known.</summary>
    public TimeSpan Limit { get; }
}

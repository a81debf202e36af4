namespace Weir.Resilience;

/// <summary>
/// What <c>OnRetryAsync</c> and other hooks get for an attempt that gave a result which <c>ShouldRetry</c> refused. It is never thrown to a caller: the last
/// attempt's result is returned, whatever it is.
/// </summary>
public sealed class ResultRejectedException : Exception
{
    /// <summary>Creates the exception.</summary>
    public ResultRejectedException()
        : this((object?)null)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public ResultRejectedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public ResultRejectedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal ResultRejectedException(object? result)
        : base("ShouldRetry refused the attempt's result.") => Result = result;

    /// <summary>The refused result. If it is disposable, it is disposed of after the hook.</summary>
    public object? Result { get; }
}

namespace Weir.Resilience;

/// <summary>How a call that ran out of time is reported: an <see cref="OperationCanceledException"/> whose inner exception is a <see cref="TimeoutException"/>, as <c>HttpClient</c> does.</summary>
public static class TimeoutFailure
{
    /// <summary>Whether an exception says that a time limit was reached, and not that somebody cancelled.</summary>
    /// <param name="exception">The exception of a call.</param>
    /// <returns>
    /// <see langword="true"/> for a <see cref="TimeoutException"/>, and for an <see cref="OperationCanceledException"/> with one as its inner exception.
    /// </returns>
    public static bool Is(Exception? exception) =>
        exception is TimeoutException or OperationCanceledException { InnerException: TimeoutException };

    internal static TaskCanceledException Create(TimeSpan limit)
    {
        string text = $"The call did not end within its time limit of {limit}.";
        return new TaskCanceledException(text, new TimeoutException(text));
    }
}

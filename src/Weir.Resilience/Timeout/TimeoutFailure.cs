namespace Weir.Resilience;

/// <summary>
/// Reports that a call timed out: an <see cref="OperationCanceledException"/> whose inner exception is a <see cref="TimeoutException"/>, as with
/// <c>HttpClient</c>.
/// </summary>
public static class TimeoutFailure
{
    /// <summary>Whether an exception means that a time limit passed, rather than that a call was cancelled.</summary>
    /// <param name="exception">A call's exception.</param>
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

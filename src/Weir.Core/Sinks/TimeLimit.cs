namespace Weir.Core.Sinks;

/// <summary>The errors of items that were given up because a time limit passed.</summary>
internal static class TimeLimit
{
    /// <summary>The item's own limit passed.</summary>
    /// <param name="limit">The limit.</param>
    /// <param name="index">The item's index, if the message is to tell it.</param>
    public static Exception OfItem(TimeSpan limit, long? index = null) => Passed(new ItemTimeoutException(limit, index));

    /// <summary>The limit of the whole call passed.</summary>
    public static Exception OfRun(TimeSpan limit) => Passed(new RunTimeoutException(limit));

    private static TaskCanceledException Passed(TimeoutException reason) => new(reason.Message, reason);
}

namespace Weir.Core.Sinks;

/// <summary>The errors of items that were given up because a time limit passed.</summary>
internal static class TimeLimit
{
    /// <summary>The item's own limit passed.</summary>
    public static Exception OfItem(TimeSpan limit) => Passed($"The item did not end within its time limit of {limit}.");

    /// <summary>The limit of the whole call passed.</summary>
    public static Exception OfBatch() => Passed("The batch did not end within its time limit.");

    private static TaskCanceledException Passed(string text) => new(text, new TimeoutException(text));
}

namespace Weir.Lab.Processes;

/// <summary>Waits for as long as something takes, and says so once when that is longer than one would expect: slowness is no answer.</summary>
internal static class LongWait
{
    /// <summary>The time after which a user wonders what is happening.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    /// <summary>Waits for the end of something, whatever that is, on this thread; a thread of the pool is not needed.</summary>
    /// <param name="work">What is waited for.</param>
    /// <param name="what">What it is called.</param>
    /// <param name="say">Is told that it is waited for.</param>
    /// <param name="patience">After what time; null for <see cref="Patience"/>.</param>
    public static void For(Task work, string what, Action<string> say, TimeSpan? patience = null)
    {
        if (!HasEnded(work, patience ?? Patience))
        {
            say(Line(what));
            HasEnded(work, Timeout.InfiniteTimeSpan);
        }
    }

    /// <summary>Waits for the result of something.</summary>
    /// <param name="work">What is waited for. Whatever ends it early is its own affair.</param>
    /// <param name="what">What it is called.</param>
    /// <param name="say">Is told that it is waited for.</param>
    /// <param name="clock">The clock; null for that of the system.</param>
    public static async Task ForAsync(Task work, string what, Action<string> say, TimeProvider? clock = null)
    {
        using CancellationTokenSource over = new();
        if (await Task.WhenAny(work, Task.Delay(Patience, clock ?? TimeProvider.System, over.Token)).ConfigureAwait(false) != work)
        {
            say(Line(what));
        }

        await over.CancelAsync().ConfigureAwait(false);
        await work.ConfigureAwait(false);
    }

    private static string Line(string what) => $"waiting for {what}.";

    private static bool HasEnded(Task work, TimeSpan limit)
    {
        try
        {
            return work.Wait(limit);
        }
        catch (AggregateException)
        {
            // What it threw is thrown where its result is taken.
            return true;
        }
    }
}

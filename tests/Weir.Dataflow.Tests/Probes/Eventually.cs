namespace Weir.Dataflow.Tests.Probes;

/// <summary>Waits, with a bound, for what other threads are about to do.</summary>
/// <remarks>
/// The bounds only tell a test that hangs from one that is slow. Where more threads want to run than there are processors, each hop from one to another may
/// take tens of milliseconds, and some tests make thousands of them.
/// </remarks>
public static class Eventually
{
    /// <summary>Milliseconds after which a test that hangs is a test that failed. Longer than its waits, which can say what did not come.</summary>
    public const int Limit = 180_000;

    /// <summary>How long one wait is, at most.</summary>
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    public static void True(Func<bool> condition, string? what = null) =>
        Assert.True(SpinWait.SpinUntil(condition, Patience), what ?? "The condition was never met.");

    public static void Equal<T>(T expected, Func<T> actual)
    {
        SpinWait.SpinUntil(() => EqualityComparer<T>.Default.Equals(expected, actual()), Patience);
        Assert.Equal(expected, actual());
    }

    public static void Sequence<T>(IEnumerable<T> expected, Func<IEnumerable<T>> actual)
    {
        T[] all = [.. expected];
        SpinWait.SpinUntil(() => actual().SequenceEqual(all), Patience);
        Assert.Equal(all, actual());
    }

    /// <summary>Waits for the end of a task, however it ends, and says how.</summary>
    public static async Task<TaskStatus> Status(Task task)
    {
        await task.WaitAsync(Patience).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return task.Status;
    }

    /// <summary>Waits for the end of a task, and lets its failure through.</summary>
    public static Task Done(Task task) => task.WaitAsync(Patience);

    public static Task<T> Result<T>(Task<T> task) => task.WaitAsync(Patience);

    public static async Task Gives<T>(T[] expected, Task<T[]> actual) => Assert.Equal(expected, await Result(actual));
}

namespace Weir.Dataflow.Tests.Probes;

/// <summary>Waits, with a bound, for what other threads are about to do.</summary>
public static class Eventually
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(10);

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

    /// <summary>Waits for a task, and lets its failure through.</summary>
    public static Task Done(Task task) => task.WaitAsync(Patience);

    public static Task<T> Result<T>(Task<T> task) => task.WaitAsync(Patience);

    public static async Task Gives<T>(T[] expected, Task<T[]> actual) => Assert.Equal(expected, await Result(actual));
}

namespace Weir.TestKit;

/// <summary>Waits that end: a test that would hang fails instead, with a sentence that says what did not happen.</summary>
public static class Guard
{
    private const int Steps = 16;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    public static async Task WithinAsync(this Task task, string what = "the awaited task")
    {
        ArgumentNullException.ThrowIfNull(task);
        await EndsAsync(task, what);
        await task;
    }

    public static async Task<T> WithinAsync<T>(this Task<T> task, string what = "the awaited task")
    {
        ArgumentNullException.ThrowIfNull(task);
        await EndsAsync(task, what);
        return await task;
    }

    public static Task<T> WithinAsync<T>(this ValueTask<T> task, string what = "the awaited task") => task.AsTask().WithinAsync(what);

    public static Task WithinAsync(this ValueTask task, string what = "the awaited task") => task.AsTask().WithinAsync(what);

    /// <summary>Waits for the end of a task, whatever the end is.</summary>
    public static async Task EndsAsync(this Task task, string what = "the awaited task")
    {
        ArgumentNullException.ThrowIfNull(task);
        if (task.IsCompleted)
        {
            return;
        }

        using CancellationTokenSource ended = new();
        await Task.WhenAny(task, Task.Delay(Limit, TimeProvider.System, ended.Token)).ConfigureAwait(false);
        if (!task.IsCompleted)
        {
            throw new TimeoutException($"{what} did not end within {Limit.TotalSeconds:F0} s.");
        }

        // Or each of the many waits of a test would leave a timer behind for a minute.
        ended.Cancel();
    }

    /// <summary>Waits for a condition that other threads bring about.</summary>
    public static Task UntilAsync(Func<bool> condition, string what)
    {
        ArgumentNullException.ThrowIfNull(condition);
        return UntilAsync(() => Task.FromResult(condition()), what);
    }

    /// <summary>Waits for a condition that takes a question to a server, say.</summary>
    public static async Task UntilAsync(Func<Task<bool>> condition, string what)
    {
        ArgumentNullException.ThrowIfNull(condition);
        long start = TimeProvider.System.GetTimestamp();
        while (!await condition())
        {
            if (TimeProvider.System.GetElapsedTime(start) > Limit)
            {
                throw new TimeoutException($"{what} did not come true within {Limit.TotalSeconds:F0} s.");
            }

            await Pause.ShortAsync();
        }
    }

    /// <summary>
    /// Lets everything run that is queued to the pool, and what that queues in turn, some steps deep, before a test says that something did not happen. No
    /// clock decides: on a busy machine it takes longer, and shows as much.
    /// </summary>
    public static async Task SettleAsync()
    {
        for (int step = 0; step < Steps; step++)
        {
            TaskCompletionSource passed = new();
            ThreadPool.UnsafeQueueUserWorkItem(static passed => passed.SetResult(), passed, preferLocal: false);
            await passed.Task.EndsAsync("the work that the pool has");
        }
    }

    /// <summary>
    /// Lets some milliseconds pass. For two things only: to move a clock no faster than threads get on, and for what the watch's own thread does or does not
    /// do, which no queue of the pool tells of and no test's clock moves.
    /// </summary>
    public static async Task PauseAsync()
    {
        for (int i = 0; i < 3; i++)
        {
            await Pause.ShortAsync();
        }
    }
}

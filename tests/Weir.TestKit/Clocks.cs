namespace Weir.TestKit;

/// <summary>Moves a manual clock until something ends.</summary>
public static class Clocks
{
    /// <summary>
    /// Moves the clock to a limit, and then in small steps until the task ends: a limit may be noticed a moment after it has passed,
    /// but not another whole limit later. However late a thread is that notices it, the clock moves on by a second at most.
    /// </summary>
    public static async Task AdvanceUntilAsync(this ManualTimeProvider clock, Task task, TimeSpan limit)
    {
        ArgumentNullException.ThrowIfNull(clock);
        ArgumentNullException.ThrowIfNull(task);
        clock.Advance(limit);
        for (int i = 0; i < 1_000 && !task.IsCompleted; i++)
        {
            await Guard.PauseAsync();
            if (!task.IsCompleted)
            {
                clock.Advance(TimeSpan.FromMilliseconds(1));
            }
        }

        await task.EndsAsync("what has a limit, which passed a second ago by the clock,");
    }

    /// <summary>
    /// Moves the clock, while somebody waits for it, until the task ends, with a few milliseconds between the steps: for attempts with a limit, which need
    /// some steps of it, and are made again and again.
    /// </summary>
    public static Task PaceAsync(this ManualTimeProvider clock, Task task, TimeSpan step) => Guard.UntilAsync(
        () =>
        {
            if (!task.IsCompleted && clock.ArmedTimers > 0)
            {
                clock.Advance(step);
            }

            return task.IsCompleted;
        },
        "the end of what the clock drives");

    /// <summary>Moves the clock, while somebody waits for it, until the task ends.</summary>
    /// <param name="clock">The clock.</param>
    /// <param name="task">The task.</param>
    /// <param name="step">By how much the clock moves at once.</param>
    /// <param name="begun">
    /// What has to happen before the clock moves at all. A limit's timer is armed before the call that it limits begins, and the clock moves faster than a
    /// thread that is held up.
    /// </param>
    public static async Task DriveAsync(this ManualTimeProvider clock, Task task, TimeSpan step, Func<bool>? begun = null)
    {
        ArgumentNullException.ThrowIfNull(clock);
        if (begun is not null)
        {
            await Guard.UntilAsync(begun, "what has to begin before the clock moves");
        }

        Task guarded = task.EndsAsync("a run that the clock drives");
        while (!guarded.IsCompleted)
        {
            // While nobody waits for it, workers are at work and would miss the time.
            if (clock.ArmedTimers > 0)
            {
                clock.Advance(step);
            }

            await Task.Yield();
        }

        await guarded;
    }
}

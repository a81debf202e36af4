namespace Weir.Explore.Model;

/// <summary>A thread that waits for a task.</summary>
internal static class Waits
{
    public static void For(Task? task)
    {
        if (task is { IsCompleted: false })
        {
            _ = For(task, Timeout.InfiniteTimeSpan, CancellationToken.None);
        }
    }

    public static bool For(Task task, TimeSpan timeout, CancellationToken token)
    {
        ControlledThread me = Points.Me;
        me.Step();
        bool hasEnded = me.Block("a task", () => task.IsCompleted || token.IsCancellationRequested, timeout < TimeSpan.Zero ? null : timeout);
        if (hasEnded && !task.IsCompleted)
        {
            token.ThrowIfCancellationRequested();
        }

        return hasEnded;
    }
}

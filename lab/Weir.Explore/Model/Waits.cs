namespace Weir.Explore.Model;

/// <summary>A thread that waits for a task, and calls of the platform's awaiters outside of async methods.</summary>
internal static class Waits
{
    public static void OnCompleted<TAwaiter>(ref TAwaiter awaiter, Action continuation) => Awaiters<TAwaiter>.Register!(ref awaiter, continuation);

    /// <summary>Before the awaiter's own <c>GetResult</c>.</summary>
    public static void Wait<TAwaiter>(ref TAwaiter awaiter) => For(Awaiters<TAwaiter>.Source!(ref awaiter));

    /// <summary>Before the awaiter says whether what it awaits has ended.</summary>
    public static void Look<TAwaiter>(ref TAwaiter awaiter) => Order.Acquire(Awaiters<TAwaiter>.Source?.Invoke(ref awaiter));

    public static void For(object? source)
    {
        if (source is Task { IsCompleted: false } task)
        {
            _ = For(task, Timeout.InfiniteTimeSpan, CancellationToken.None);
        }

        Order.Acquire(source);
    }

    public static bool For(Task task, TimeSpan timeout, CancellationToken token)
    {
        ControlledThread me = Points.Me;
        me.Step(orders: false);
        bool hasEnded = me.Block(
            "a task", () => task.IsCompleted || token.IsCancellationRequested, timeout < TimeSpan.Zero ? null : timeout, orders: token.CanBeCanceled);
        if (hasEnded && !task.IsCompleted)
        {
            token.ThrowIfCancellationRequested();
        }

        Order.Acquire(hasEnded ? task : null);
        Order.Learn(hasEnded);
        return hasEnded;
    }
}

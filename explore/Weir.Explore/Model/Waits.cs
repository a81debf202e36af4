namespace Weir.Explore.Model;

/// <summary>A thread that waits for a task or another object, and calls of the platform's awaiters outside of async methods.</summary>
internal static class Waits
{
    public static void OnCompleted<TAwaiter>(ref TAwaiter awaiter, Action continuation) => Awaiters<TAwaiter>.Register!(ref awaiter, continuation);

    /// <summary>Before the awaiter's own <c>GetResult</c>.</summary>
    public static void Wait<TAwaiter>(ref TAwaiter awaiter) => For(Awaiters<TAwaiter>.Source(ref awaiter));

    /// <summary>Before the awaiter says whether what it awaits has ended.</summary>
    public static void Look<TAwaiter>(ref TAwaiter awaiter) => Order.Acquire(Awaiters<TAwaiter>.Source(ref awaiter));

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
        bool hasEnded = me.Block("a task", () => task.IsCompleted || token.IsCancellationRequested, timeout, orders: token.CanBeCanceled);
        if (hasEnded && !task.IsCompleted)
        {
            token.ThrowIfCancellationRequested();
        }

        Order.Acquire(hasEnded ? task : null);
        return Order.Learn(hasEnded);
    }

    /// <summary>Waits for what an object of the model has, and throws if it is cancelled before that is there.</summary>
    public static bool For(string what, Func<bool> isThere, TimeSpan timeout, CancellationToken token)
    {
        Order.OfToken(ref token);
        token.ThrowIfCancellationRequested();
        _ = Points.Me.Block(what, () => isThere() || token.IsCancellationRequested, timeout, orders: false);
        Order.Awake();
        Order.OfToken(ref token);
        bool holds = Order.Learn(isThere());
        if (!holds)
        {
            token.ThrowIfCancellationRequested();
        }

        return holds;
    }
}

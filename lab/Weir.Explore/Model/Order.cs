namespace Weir.Explore.Model;

/// <summary>Tells a search for data races what comes before what. Without such a search, it does nothing.</summary>
internal static class Order
{
    /// <summary>What this thread has done comes before what those do that see that the task, or another object, has come to its end.</summary>
    public static void Release(object ended)
    {
        if (Of(out ControlledThread me) is { } races)
        {
            races.Release(me, ended);
        }
    }

    public static void Acquire(object? ended)
    {
        if (ended is not null && Of(out ControlledThread me) is { } races)
        {
            races.Acquire(me, ended);
        }
    }

    /// <summary>An operation of an object that several threads may use.</summary>
    public static void Use(object used)
    {
        if (Of(out ControlledThread me) is { } races)
        {
            races.Order(me, used);
        }
    }

    /// <summary>Before a task is completed. Those that the platform derives from it have no clock, and get the platform's.</summary>
    public static void Complete(object source)
    {
        if (Of(out ControlledThread me) is { } races)
        {
            // Laid over the generic one: both have their task as the only field.
            races.Order(me, Unsafe.As<TaskCompletionSource>(source).Task);
            races.OrderPlatform(me);
        }
    }

    /// <summary>A call of the platform without a clock of its own.</summary>
    public static void Platform()
    {
        if (Of(out ControlledThread me) is { } races)
        {
            races.OrderPlatform(me);
        }
    }

    public static void OfValueTask(ref ValueTask task) => Acquire(Fields.Source(ref task));

    public static void OfValueTaskWithResult<TResult>(ref ValueTask<TResult> task) => Acquire(Fields<TResult>.Source(ref task));

    /// <summary>Before the task of an async method is completed.</summary>
    public static void OfBuilder<TBuilder>(ref TBuilder builder)
    {
        if (Of(out ControlledThread me) is { } races && Builders.TaskOf(ref builder) is { } task)
        {
            races.Release(me, task);
        }
    }

    /// <summary>Null if nobody orders. What is returned is called by whoever comes after what this thread has done.</summary>
    public static Action? Fork() => Of(out ControlledThread me) is null ? null : ForkOf(me);

    private static Action ForkOf(ControlledThread me)
    {
        VectorClock clock = RaceDetector.Fork(me);
        return () => ControlledThread.Current?.Clock.Join(clock);
    }

    private static RaceDetector? Of(out ControlledThread me)
    {
        me = ControlledThread.Current!;
        return me is null ? null : me.Execution.Races;
    }
}

namespace Weir.Explore.Model;

/// <summary>Each work item is a thread of the schedule, so that it may begin at any time.</summary>
[Replaces("System.Threading.ThreadPool")]
internal static class Pool
{
    public static bool QueueUserWorkItem(WaitCallback callBack) => Queue(() => callBack(null));

    public static bool QueueUserWorkItem(WaitCallback callBack, object? state) => Queue(() => callBack(state));

    public static bool QueueUserWorkItem<TState>(Action<TState> callBack, TState state, bool preferLocal) => Queue(() => callBack(state));

    public static bool UnsafeQueueUserWorkItem(WaitCallback callBack, object? state) => Queue(() => callBack(state), flows: false);

    public static bool UnsafeQueueUserWorkItem<TState>(Action<TState> callBack, TState state, bool preferLocal) => Queue(() => callBack(state), flows: false);

    public static bool UnsafeQueueUserWorkItem(IThreadPoolWorkItem callBack, bool preferLocal) => Queue(callBack.Execute, flows: false);

    /// <summary>Queues a work item; a point.</summary>
    public static bool Queue(Action body, bool flows = true)
    {
        ControlledThread me = Points.Me;
        me.Execution.ThrowIfStopping(me);
        me.Execution.Create("pool", body, flows ? ExecutionContext.Capture() : null);
        me.Step(orders: false);
        return true;
    }

    /// <summary>Queues a work item from inside an operation that is one piece.</summary>
    public static void QueueInside(Action body) => ControlledThread.Current?.Execution.Create("pool", body, null);
}

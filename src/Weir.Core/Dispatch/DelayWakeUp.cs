using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// Calls a run's <see cref="DelayQueue{T}"/> when something has happened that its items wait for. What happens may be a long time off and outlive the run,
/// which this lets go of at its end.
/// </summary>
internal sealed class DelayWakeUp<T>(DelayQueue<T> queue)
{
    // A call that comes just as the run ends finds the queue, which is closed by then, or nothing.
    private volatile DelayQueue<T>? _queue = queue;

    /// <remarks>
    /// At once, if the task allows it: items that are told one after the other come back in that order, and each may be claimed as soon as it is back.
    /// </remarks>
    public void CallAfter(Task until)
    {
        // A continuation keeps the context it was made in until the task ends, and with it the values of the run's caller.
        bool flows = !ExecutionContext.IsFlowSuppressed();
        AsyncFlowControl flow = flows ? ExecutionContext.SuppressFlow() : default;
        try
        {
            until.ContinueWith(
                static (ended, wakeUp) => ((DelayWakeUp<T>)wakeUp!).Wake(ended),
                this,
                CancellationToken.None,
                TaskContinuationOptions.ExecuteSynchronously,
                UrgentScheduler.Instance);
        }
        finally
        {
            if (flows)
            {
                flow.Undo();
            }
        }
    }

    public void Close() => _queue = null;

    private void Wake(Task ended)
    {
        if (_queue is { } queue)
        {
            try
            {
                queue.Wake(ended);
            }
            catch (Exception e)
            {
                Unattended.TryReport(queue, e);
            }
        }
    }
}

namespace Weir.Delivery;

/// <summary>
/// A queue of waiters that are woken one at a time. A waiter that is woken and leaves something over wakes the next. So a change costs the same however
/// many wait. Guarded by the lock of its owner.
/// </summary>
internal sealed class WaitLine(Lock owner)
{
    private readonly LinkedList<TaskCompletionSource> _waits = new();

    /// <summary>Begins a wait, at the end of the line.</summary>
    public LinkedListNode<TaskCompletionSource> AddNeedsLock() =>
        _waits.AddLast(new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));

    public void WakeOneNeedsLock()
    {
        if (_waits.First is { } first)
        {
            _waits.RemoveFirst();
            first.Value.TrySetResult();
        }
    }

    public void WakeAllNeedsLock()
    {
        foreach (TaskCompletionSource wait in _waits)
        {
            wait.TrySetResult();
        }

        _waits.Clear();
    }

    /// <summary>Ends a wait. Takes the lock.</summary>
    public async ValueTask WaitAsync(LinkedListNode<TaskCompletionSource> wait, CancellationToken cancellationToken)
    {
        try
        {
            await wait.Value.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            lock (owner)
            {
                if (wait.List is null)
                {
                    // It was woken but does not take anything, so the next one is woken.
                    WakeOneNeedsLock();
                }
                else
                {
                    _waits.Remove(wait);
                }
            }

            throw;
        }
    }
}

namespace Weir.Explore.Model;

/// <summary>Stands before an awaiter of the platform when an async method awaits it.</summary>
internal sealed class ControlledAwaiter<TAwaiter>(TAwaiter awaiter) : ICriticalNotifyCompletion
{
    private TAwaiter _awaiter = awaiter;

    public void OnCompleted(Action continuation) => UnsafeOnCompleted(continuation);

    public void UnsafeOnCompleted(Action continuation)
    {
        try
        {
            Awaiters<TAwaiter>.Register!(ref _awaiter, continuation);
        }
        catch (StopException)
        {
            // The platform's builder would throw it on a thread of the pool, which ends the process. The next point throws it again.
        }
    }
}

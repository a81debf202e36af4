namespace Weir.Explore.Model;

/// <summary>Stands before an awaiter of the platform when an async method awaits it.</summary>
internal sealed class ControlledAwaiter<TAwaiter>(TAwaiter awaiter) : ICriticalNotifyCompletion
{
    private TAwaiter _awaiter = awaiter;

    public void OnCompleted(Action continuation) => Awaiters<TAwaiter>.Register!(ref _awaiter, continuation);

    public void UnsafeOnCompleted(Action continuation) => Awaiters<TAwaiter>.Register!(ref _awaiter, continuation);
}

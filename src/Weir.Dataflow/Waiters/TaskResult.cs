namespace Weir.Dataflow.Waiters;

/// <summary>A result as a task.</summary>
internal sealed class TaskResult<TResult>()
    : TaskCompletionSource<TResult>(TaskCreationOptions.RunContinuationsAsynchronously), IWaitResult<TResult>
{
    public void Set(TResult result) => TrySetResult(result);

    public void Fail(Exception exception) => TrySetException(exception);

    public void Cancel(CancellationToken token) => TrySetCanceled(token);
}

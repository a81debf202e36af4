namespace Weir.Dataflow.Waiters;

/// <summary>A pending OutputAvailableAsync.</summary>
internal sealed class AvailableWaiter<T>(IReceiveSource<T> source) : ReceiveWaiter<T>(source, takesMessage: false)
{
    private readonly TaskCompletionSource<bool> _result = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task<bool> Task => _result.Task;

    public override void SourceEnded()
    {
        Registration.Unregister();
        _result.TrySetResult(false);
    }

    public override void Fail(Exception exception)
    {
        Registration.Unregister();
        _result.TrySetException(exception);
    }

    public override void GiveUp(bool timedOut, CancellationToken token)
    {
        Registration.Unregister();
        _result.TrySetCanceled(token);
    }

    protected override void Succeed()
    {
        Registration.Unregister();
        _result.TrySetResult(true);
    }
}

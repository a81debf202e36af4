namespace Weir.Dataflow.Waiters;

/// <summary>A pending SendAsync.</summary>
internal sealed class SendTaskWaiter<T>(ISendTarget<T> target) : SendWaiter<T>(target)
{
    private readonly TaskCompletionSource<bool> _result = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task<bool> Task => _result.Task;

    public override void Finish(bool accepted)
    {
        Registration.Unregister();
        _result.TrySetResult(accepted);
    }

    public override void GiveUp(CancellationToken token)
    {
        Registration.Unregister();
        _result.TrySetCanceled(token);
    }
}

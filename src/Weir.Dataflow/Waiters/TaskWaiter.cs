using Weir.Dataflow.Links;


namespace Weir.Dataflow.Waiters;

/// <summary>A pending ReceiveAsync.</summary>
internal sealed class TaskWaiter<T>(IReceiveSource<T> source) : ReceiveWaiter<T>(source, takesMessage: true)
{
    private readonly TaskCompletionSource<T> _result = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task<T> Task => _result.Task;

    public ITimer? Timer { get; set; }

    public void Expire() => Source.GiveUp(this, timedOut: true, default);

    public override void SourceEnded()
    {
        Free();
        _result.TrySetException(new InvalidOperationException(Protocol.NoData));
    }

    public override void Fail(Exception exception)
    {
        Free();
        _result.TrySetException(exception);
    }

    public override void GiveUp(bool timedOut, CancellationToken token)
    {
        Free();
        if (timedOut)
        {
            _result.TrySetException(new TimeoutException());
        }
        else
        {
            _result.TrySetCanceled(token);
        }
    }

    protected override void Succeed()
    {
        Free();
        _result.TrySetResult(Item!);
    }

    private void Free()
    {
        Registration.Unregister();
        Timer?.Dispose();
    }
}

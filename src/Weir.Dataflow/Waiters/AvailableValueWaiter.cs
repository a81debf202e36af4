using System.Threading.Tasks.Sources;

namespace Weir.Dataflow.Waiters;

/// <summary>A pending WaitToReceiveAsync. The source keeps one for the next time, so that waiting allocates nothing.</summary>
internal sealed class AvailableValueWaiter<T>(IReceiveSource<T> source) : ReceiveWaiter<T>(source, takesMessage: false), IValueTaskSource<bool>
{
    private ManualResetValueTaskSourceCore<bool> _core = new() { RunContinuationsAsynchronously = true };

    public ValueTask<bool> Task => new(this, _core.Version);

    public void Prepare()
    {
        _core.Reset();
        IsGivenUp = false;
    }

    public override void SourceEnded() => _core.SetResult(false);

    public override void Fail(Exception exception) => _core.SetException(exception);

    public override void GiveUp(bool timedOut, CancellationToken token) => _core.SetException(new OperationCanceledException(token));

    bool IValueTaskSource<bool>.GetResult(short token)
    {
        if (_core.GetStatus(token) == ValueTaskSourceStatus.Pending)
        {
            return _core.GetResult(token);
        }

        // Waits for a cancellation that is under way, so that it cannot hit the waiter's next life.
        Registration.Dispose();
        Registration = default;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            SpareWaiters<T>.Of(ref Source.Spares).Keep(this);
        }
    }

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    protected override void Succeed() => _core.SetResult(true);
}

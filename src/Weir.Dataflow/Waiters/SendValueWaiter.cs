using System.Threading.Tasks.Sources;

namespace Weir.Dataflow.Waiters;

/// <summary>A pending SendValueAsync. The target keeps one for the next time, so that waiting allocates nothing.</summary>
internal sealed class SendValueWaiter<T>(ISendTarget<T> target) : SendWaiter<T>(target), IValueTaskSource<bool>
{
    private ManualResetValueTaskSourceCore<bool> _core = new() { RunContinuationsAsynchronously = true };

    public ValueTask<bool> Task => new(this, _core.Version);

    public void Prepare()
    {
        _core.Reset();
        IsGivenUp = false;
    }

    public override void Finish(bool accepted) => _core.SetResult(accepted);

    public override void GiveUp(CancellationToken token) => _core.SetException(new OperationCanceledException(token));

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
            Value = default;
            Target.Keep(this);
        }
    }

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);
}

using System.Threading.Tasks.Sources;

namespace Weir.Dataflow.Waiters;

/// <summary>A result as a value task, used again by the next wait with the same waiter.</summary>
internal sealed class ValueResult<TResult>(IReusableWaiter waiter) : IWaitResult<TResult>, IValueTaskSource<TResult>
{
    private ManualResetValueTaskSourceCore<TResult> _core = new() { RunContinuationsAsynchronously = true };

    /// <summary>Begins a wait.</summary>
    public ValueTask<TResult> Begin()
    {
        _core.Reset();
        return new(this, _core.Version);
    }

    public void Set(TResult result) => _core.SetResult(result);

    public void Fail(Exception exception) => _core.SetException(exception);

    public void Cancel(CancellationToken token) => _core.SetException(new OperationCanceledException(token));

    TResult IValueTaskSource<TResult>.GetResult(short token)
    {
        if (_core.GetStatus(token) == ValueTaskSourceStatus.Pending)
        {
            return _core.GetResult(token);
        }

        // Waits for a cancellation that is under way, so that it cannot hit the waiter's next life.
        waiter.Registration.Dispose();
        waiter.Registration = default;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            waiter.Keep();
        }
    }

    ValueTaskSourceStatus IValueTaskSource<TResult>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<TResult>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);
}

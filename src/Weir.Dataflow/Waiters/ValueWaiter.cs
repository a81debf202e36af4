using Weir.Dataflow.Links;

using System.Threading.Tasks.Sources;

namespace Weir.Dataflow.Waiters;

/// <summary>A pending ReceiveValueAsync. The source keeps one for the next time, so that waiting allocates nothing.</summary>
internal sealed class ValueWaiter<T>(IReceiveSource<T> source) : ReceiveWaiter<T>(source, takesMessage: true), IValueTaskSource<T>
{
    private ManualResetValueTaskSourceCore<T> _core = new() { RunContinuationsAsynchronously = true };

    public ValueTask<T> Task => new(this, _core.Version);

    public void Prepare()
    {
        _core.Reset();
        IsGivenUp = false;
    }

    public override void SourceEnded() => _core.SetException(new InvalidOperationException(Protocol.NoData));

    public override void Fail(Exception exception) => _core.SetException(exception);

    public override void GiveUp(bool timedOut, CancellationToken token) => _core.SetException(new OperationCanceledException(token));

    T IValueTaskSource<T>.GetResult(short token)
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
            Item = default;
            SpareWaiters<T>.Of(ref Source.Spares).Keep(this);
        }
    }

    ValueTaskSourceStatus IValueTaskSource<T>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<T>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    protected override void Succeed() => _core.SetResult(Item!);
}

using Weir.Core;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Waiters;

/// <summary>
/// A sender that waits until a target has room for its message. The thread that takes it out of the target's list, under the target's lock, completes it.
/// </summary>
internal sealed class SendWaiter<T> : PostponedNode<T>, IUnattended, IAfterLock, IReusableWaiter
{
    private readonly ISendTarget<T> _target;
    private readonly IWaitResult<bool> _result;

    public SendWaiter(ISendTarget<T> target, bool isReused)
    {
        _target = target;
        _result = isReused ? new ValueResult<bool>(this) : new TaskResult<bool>();
    }

    public T? Value { get; set; }

    public bool IsGivenUp { get; set; }

    public CancellationTokenRegistration Registration { get; set; }

    /// <summary>The result of one that is not reused.</summary>
    public Task<bool> Task => ((TaskResult<bool>)_result).Task;

    /// <summary>Begins a wait of one that is reused.</summary>
    public ValueTask<bool> Begin()
    {
        IsGivenUp = false;
        return ((ValueResult<bool>)_result).Begin();
    }

    public void Abandon(CancellationToken token) => _target.GiveUp(this, token);

    /// <summary>It could not be given up: tries once more, because its caller waits.</summary>
    void IUnattended.WorkFailed(Exception error) => Abandon(Registration.Token);

    /// <summary>The message was taken.</summary>
    public void AfterLock() => Finish(accepted: true);

    public void Finish(bool accepted)
    {
        Free();
        _result.Set(accepted);
    }

    public void GiveUp(CancellationToken token)
    {
        Free();
        _result.Cancel(token);
    }

    public void Keep()
    {
        Value = default;
        _target.Keep(this);
    }

    // One that is reused gives its registration back when the result is read, and waits for it.
    private void Free()
    {
        if (_result is TaskResult<bool>)
        {
            Registration.Unregister();
        }
    }
}

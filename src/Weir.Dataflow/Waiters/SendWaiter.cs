using Weir.Core;
using Weir.Dataflow.Links;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Waiters;

/// <summary>
/// A sender that waits until a target has room for its message. The thread that takes it out of the target's list, under the target's lock, completes it.
/// </summary>
internal abstract class SendWaiter<T>(ISendTarget<T> target) : PostponedNode<T>, IUnattended, IAfterLock
{
    protected ISendTarget<T> Target { get; } = target;

    public T? Value { get; set; }

    public bool IsGivenUp { get; set; }

    public CancellationTokenRegistration Registration { get; set; }

    public void Abandon(CancellationToken token) => Target.GiveUp(this, token);

    /// <summary>It could not be given up: tries once more, because its caller waits.</summary>
    void IUnattended.WorkFailed(Exception error) => Abandon(Registration.Token);

    /// <summary>The message was taken.</summary>
    public void AfterLock() => Finish(accepted: true);

    public abstract void Finish(bool accepted);

    public abstract void GiveUp(CancellationToken token);
}

using System.Diagnostics;
using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Debugging;

namespace Weir.Dataflow.Cores;

/// <summary>One of the targets of a join of any kind. What it holds is guarded by the join's lock, which comes after its own.</summary>
[DebuggerDisplay("{DebuggerDisplay,nq}")]
[DebuggerTypeProxy(typeof(BlockView))]
internal abstract class JoinedTarget<T>(BlockOptions options) : TargetCore<T>(options), ITargetBlock<T>, IJoinedTarget
{
    Task IDataflowBlock.Completion =>
        throw new NotSupportedException("This member is not supported on this dataflow block: its completion is that of the join.");

    protected override ITargetBlock<T> Self => this;

    protected abstract IJoin Owner { get; }

    private string DebuggerDisplay => new BlockView(this).ToString();

    public abstract void TakenNeedsLock();

    public virtual DataflowMessageStatus OfferMessage(
        DataflowMessageHeader messageHeader, T messageValue, ISourceBlock<T>? source, bool consumeToAccept) =>
        Offer(messageHeader, messageValue, source, consumeToAccept);

    /// <inheritdoc/>
    public override void Show(BlockView view)
    {
        base.Show(view);
        view.IsCompleted = Owner.IsCompleted;
    }

    /// <inheritdoc/>
    public override string ToString() => Owner.NameOf(this);

    void IDataflowBlock.Complete() => Complete(null, drop: false);

    void IDataflowBlock.Fault(Exception exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        FaultJoin(exception);
    }

    void IJoinedTarget.Fail(Exception? exception) => Complete(exception, drop: true);

    void IJoinedTarget.Decline() => Complete(null, drop: false);

    protected virtual void FaultJoin(Exception exception) => Owner.Fault(exception);

    protected override void Cancelled() => Owner.Cancelled();

    protected override void Finished(List<Exception>? exceptions) => Owner.TargetFinished(exceptions);
}

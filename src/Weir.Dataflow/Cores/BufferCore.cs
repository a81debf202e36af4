using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a BufferBlock: input goes straight to the output.</summary>
internal sealed class BufferCore<T> : TargetCore<T>, IOutputHost<T>
{
    public BufferCore(IPropagatorBlock<T, T> owner, BlockOptions options)
        : base(options)
    {
        Source = new SourceCore<T>(owner, this, options);
        ListenToToken();
    }

    public SourceCore<T> Source { get; }

    protected override ITargetBlock<T> Self => (ITargetBlock<T>)Source.Owner;

    int IOutputHost<T>.CountOf(T item) => 1;

    void IOutputHost<T>.OutputLeft(int weight) => Free(weight, here: false);

    void IOutputHost<T>.OutputFailed() => Complete(null, drop: true);

    void IOutputHost<T>.OutputCompleted() => StopListening();

    protected override IAfterLock? StoreNeedsLock(T item) => Source.Add(item);

    // The output side keeps what it has, or discards it when it sees the fault or the cancellation itself.
    protected override void DropNeedsLock()
    {
    }

    protected override bool IsDrainedNeedsLock() => true;

    protected override void Cancelled()
    {
        base.Cancelled();
        Source.Reconsider();
    }

    protected override void Finished(List<Exception>? exceptions) => Source.Complete(exceptions);
}

using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>The core of a BufferBlock: each accepted message goes to the output at once, under the input lock. It is drained as soon as it declines.</summary>
internal sealed class BufferCore<T> : TargetCore<T>, IOutputHost, IMeteredBlock
{
    private ListedBlock _listed;

    public BufferCore(IPropagatorBlock<T, T> owner, BlockOptions options)
        : base(options)
    {
        Source = new SourceCore<T>(owner, this, options);
        BlockListeners.Look();
        ListenToToken();
    }

    public SourceCore<T> Source { get; }

    protected override ITargetBlock<T> Self => (ITargetBlock<T>)Source.Owner;

    IDataflowBlock IMeteredBlock.Block => Source.Owner;

    string? IMeteredBlock.Name => Options.GivenName(Source.Owner);

    int? IMeteredBlock.Capacity => Options.Bound;

    object[] IMeteredBlock.LinkedNow => Source.LinkedNow;

    void IOutputHost.OutputLeft(int weight) => Free(weight, onWorker: false);

    void IOutputHost.OutputFailed() => Complete(null, discard: true);

    void IOutputHost.OutputCompleted()
    {
        StopListening();
        _listed.End(this);
    }

    BlockSample IMeteredBlock.Sample()
    {
        BlockSample sample = default;
        sample.Discarded = Source.DiscardedNow;
        Source.Sample(ref sample);
        sample.Processed = sample.Sent;
        sample.Received = sample.Sent + sample.Discarded + sample.Output;
        return sample;
    }

    protected override IAfterLock? StoreNeedsLock(T item)
    {
        _listed.Begin(this);
        return Source.Add(item);
    }

    // The output side keeps what it has, or discards it when it sees the fault or the cancellation itself.
    protected override void DiscardNeedsLock()
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

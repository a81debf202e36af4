using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A batched join of two.</summary>
internal sealed class BatchedJoinCore<T1, T2> : BatchedJoinShared, IOutputHost<Tuple<IList<T1>, IList<T2>>>
{
    public BatchedJoinCore(ISourceBlock<Tuple<IList<T1>, IList<T2>>> owner, int batchSize, BlockOptions options)
        : base(batchSize, options)
    {
        Source = new SourceCore<Tuple<IList<T1>, IList<T2>>>(owner, this, options);
        Target1 = new BatchedJoinTarget<T1>(this, options);
        Target2 = new BatchedJoinTarget<T2>(this, options);
        Targets = [Target1, Target2];
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<IList<T1>, IList<T2>>> Source { get; }

    public BatchedJoinTarget<T1> Target1 { get; }

    public BatchedJoinTarget<T2> Target2 { get; }

    public override bool IsCompleted => Source.IsCompleted;

    protected override IBatchedJoinTarget[] Targets { get; }

    protected override IDataflowBlock Owner => Source.Owner;

    int IOutputHost<Tuple<IList<T1>, IList<T2>>>.CountOf(Tuple<IList<T1>, IList<T2>> item) => 1;

    void IOutputHost<Tuple<IList<T1>, IList<T2>>>.OutputLeft(int weight)
    {
    }

    void IOutputHost<Tuple<IList<T1>, IList<T2>>>.OutputFailed() => FailAll();

    void IOutputHost<Tuple<IList<T1>, IList<T2>>>.OutputCompleted() => Ended();

    protected override IAfterLock? EmitNeedsLock()
    {
        Tuple<IList<T1>, IList<T2>> tuple;
        try
        {
            tuple = Tuple.Create(Target1.BeginTakeNeedsLock(), Target2.BeginTakeNeedsLock());
        }
        catch (OutOfMemoryException)
        {
            return NoMemory.Instance;
        }

        IAfterLock? after = Source.Add(tuple);
        if (!ReferenceEquals(after, NoMemory.Instance))
        {
            Target1.EndTakeNeedsLock();
            Target2.EndTakeNeedsLock();
        }

        return after;
    }

    protected override void SampleOutput(ref BlockSample sample) => Source.Sample(ref sample);

    protected override void ReconsiderOutput() => Source.Reconsider();

    protected override void CompleteOutput(List<Exception>? exceptions) => Source.Complete(exceptions);
}

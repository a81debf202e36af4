using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A batched join of two.</summary>
internal sealed class BatchedJoinCore<T1, T2> : BatchedJoinShared
{
    public BatchedJoinCore(ISourceBlock<Tuple<IList<T1>, IList<T2>>> owner, int batchSize, BlockOptions options)
        : base(batchSize, options)
    {
        Source = new SourceCore<Tuple<IList<T1>, IList<T2>>>(owner, this, options);
        Target1 = new BatchedJoinTarget<T1>(this, options);
        Target2 = new BatchedJoinTarget<T2>(this, options);
        Begin(Source, Target1, Target2);
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<IList<T1>, IList<T2>>> Source { get; }

    public BatchedJoinTarget<T1> Target1 { get; }

    public BatchedJoinTarget<T2> Target2 { get; }

    protected override IAfterLock? AddTupleNeedsLock() => Source.Add(Tuple.Create(Target1.BeginTakeNeedsLock(), Target2.BeginTakeNeedsLock()));
}

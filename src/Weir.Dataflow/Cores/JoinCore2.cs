using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A join of two.</summary>
internal sealed class JoinCore<T1, T2> : JoinShared
{
    public JoinCore(ISourceBlock<Tuple<T1, T2>> owner, BlockOptions options)
        : base(options)
    {
        Source = new SourceCore<Tuple<T1, T2>>(owner, this, options);
        Target1 = new JoinTarget<T1>(this, options);
        Target2 = new JoinTarget<T2>(this, options);
        Begin(Source, Target1, Target2);
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<T1, T2>> Source { get; }

    public JoinTarget<T1> Target1 { get; }

    public JoinTarget<T2> Target2 { get; }

    protected override IAfterLock? AddTupleNeedsLock()
    {
        Tuple<T1, T2> tuple = Tuple.Create(Target1.PeekNeedsLock(), Target2.PeekNeedsLock());

        // Under the join's lock, so one at a time; but from there, a bounded join must not be told that a tuple left.
        return Options.IsBounded ? Source.Add(tuple) : Source.AddInTurn(tuple);
    }
}

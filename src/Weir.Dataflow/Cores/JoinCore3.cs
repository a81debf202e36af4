using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A join of three.</summary>
internal sealed class JoinCore<T1, T2, T3> : JoinShared, IOutputHost<Tuple<T1, T2, T3>>
{
    public JoinCore(ISourceBlock<Tuple<T1, T2, T3>> owner, BlockOptions options)
        : base(options, targets: 3)
    {
        Source = new SourceCore<Tuple<T1, T2, T3>>(owner, this, options);
        Target1 = new JoinTarget<T1>(this, options);
        Target2 = new JoinTarget<T2>(this, options);
        Target3 = new JoinTarget<T3>(this, options);
        Targets = [Target1, Target2, Target3];
        Target1.ListenToToken();
    }

    public SourceCore<Tuple<T1, T2, T3>> Source { get; }

    public JoinTarget<T1> Target1 { get; }

    public JoinTarget<T2> Target2 { get; }

    public JoinTarget<T3> Target3 { get; }

    public override bool IsCompleted => Source.IsCompleted;

    protected override IJoinTarget[] Targets { get; }

    protected override IDataflowBlock Owner => Source.Owner;

    int IOutputHost<Tuple<T1, T2, T3>>.CountOf(Tuple<T1, T2, T3> item) => 1;

    void IOutputHost<Tuple<T1, T2, T3>>.OutputLeft(int weight) => Free(weight, here: false);

    void IOutputHost<Tuple<T1, T2, T3>>.OutputFailed() => FailAll();

    void IOutputHost<Tuple<T1, T2, T3>>.OutputCompleted() => Ended();

    protected override IAfterLock? EmitNeedsLock()
    {
        Tuple<T1, T2, T3> tuple;
        try
        {
            tuple = Tuple.Create(Target1.PeekNeedsLock(), Target2.PeekNeedsLock(), Target3.PeekNeedsLock());
        }
        catch (OutOfMemoryException)
        {
            return NoMemory.Instance;
        }

        IAfterLock? after = Add(tuple);
        if (!ReferenceEquals(after, NoMemory.Instance))
        {
            Target1.DequeueNeedsLock();
            Target2.DequeueNeedsLock();
            Target3.DequeueNeedsLock();
        }

        return after;
    }

    protected override void SampleOutput(ref BlockSample sample) => Source.Sample(ref sample);

    protected override void ReconsiderOutput() => Source.Reconsider();

    protected override void CompleteOutput(List<Exception>? exceptions) => Source.Complete(exceptions);

    // Called under the join's lock, so one at a time; but from there, a bounded join must not be told that a tuple left.
    private IAfterLock? Add(Tuple<T1, T2, T3> item) => Options.IsBounded ? Source.Add(item) : Source.AddInTurn(item);
}

using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Cores;

/// <summary>The common part of blocks that run a delegate and have an output side.</summary>
internal abstract class OutputExecCore<TIn, TOut> : ExecCore<TIn>, IOutputHost
{
    protected OutputExecCore(IPropagatorBlock<TIn, TOut> owner, BlockOptions options)
        : base(options)
    {
        Source = new SourceCore<TOut>(owner, this, options);
        Ordered = options.Ordered && options.Parallelism > 1 ? new OrderedOutput<TOut>(Source, options.IsBounded) : null;
    }

    public SourceCore<TOut> Source { get; }

    protected OrderedOutput<TOut>? Ordered { get; }

    /// <summary>Whether outputs are sent one at a time.</summary>
    private bool IsInTurn => Options.Ordered || Options.Parallelism == 1;

    protected override int OutputNow => Source.CountNow;

    protected override long SentNow => Source.SentNow;

    protected override ITargetBlock<TIn> Self => (ITargetBlock<TIn>)Source.Owner;

    void IOutputHost.OutputLeft(int weight) => Free(weight, here: false);

    void IOutputHost.OutputFailed() => Complete(null, drop: true);

    void IOutputHost.OutputCompleted()
    {
        StopListening();
        EndMetering();
    }

    /// <summary>The message has this one output. Does not throw: if it cannot be stored, the block fails.</summary>
    protected void Emit(TIn item, long id, TOut output)
    {
        try
        {
            if (Ordered is not null)
            {
                Ordered.Add(id, output);
            }
            else
            {
                AddOutput(output);
            }
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }
    }

    /// <summary>Sends an output. If there is an order, it is the turn of its message.</summary>
    protected void AddOutput(TOut output) => (IsInTurn ? Source.AddInTurn(output) : Source.Add(output))?.AfterLock();

    /// <summary>The delegate threw, so there is no output.</summary>
    protected bool Threw(TIn item, long id, Exception exception)
    {
        ProcessFailed(item, exception);
        EmitNothing(item, id, here: true);
        return true;
    }

    /// <summary>The message has no output: its place is free, and later messages need not wait. Does not throw.</summary>
    protected void EmitNothing(TIn item, long id, bool here)
    {
        try
        {
            Ordered?.End(id, null);
        }
        catch (Exception e)
        {
            ProcessFailed(item, e);
        }

        Free(1, here);
    }

    protected override void Cancelled()
    {
        base.Cancelled();
        Source.Reconsider();
    }

    protected override void Finished(List<Exception>? exceptions) => Source.Complete(exceptions);
}

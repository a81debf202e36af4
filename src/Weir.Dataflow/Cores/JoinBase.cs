using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What the targets of a join of any kind share: the lock over what they hold, the output, and an end that is that of all.</summary>
/// <typeparam name="TTarget">What a target can do.</typeparam>
internal abstract class JoinBase<TTarget> : IJoin, IOutputHost, IMeteredBlock, IAfterLock
    where TTarget : class, IJoinedTarget
{
    /// <summary>It comes after the targets' own locks.</summary>
    public BiasedLock StateLock;

    /// <summary>How many tuples were made. Guarded by the lock.</summary>
    protected long Made;
    protected long Discarded;
    protected ListedBlock Listed;
    private int _finished;

    protected JoinBase(BlockOptions options)
    {
        Options = options;
        BlockListeners.Look();
    }

    public BlockOptions Options { get; }

    public bool IsCompleted => Output.IsCompleted;

    Type IMeteredBlock.Type => Output.Block.GetType();

    string? IMeteredBlock.Name => Options.GivenName(Output.Block);

    protected TTarget[] Targets { get; private set; } = [];

    protected List<Exception>? Exceptions { get; set; }

    private IOutputSide Output { get; set; } = null!;

    public abstract void AfterLock();

    public abstract BlockSample Sample();

    /// <summary>What a target's ToString says.</summary>
    public string NameOf(IJoinedTarget target) => $"Target{Array.IndexOf(Targets, target) + 1} of {Output.Block}";

    /// <summary>Takes no more messages, and fails if there is an exception.</summary>
    public void End(Exception? exception)
    {
        if (exception is null)
        {
            DeclineAll();
        }
        else
        {
            Fault(exception);
        }
    }

    public abstract void Fault(Exception exception);

    public void FailAll()
    {
        foreach (TTarget target in Targets)
        {
            target.Fail(null);
        }
    }

    public void Cancelled()
    {
        FailAll();
        Output.Reconsider();
    }

    /// <inheritdoc/>
    public abstract void TargetFinished(List<Exception>? exceptions);

    public virtual void OutputLeft(int weight)
    {
    }

    void IOutputHost.OutputFailed() => FailAll();

    void IOutputHost.OutputCompleted()
    {
        foreach (TTarget target in Targets)
        {
            target.StopListeningToToken();
        }

        Listed.End(this);
    }

    /// <summary>The parts of the block. Its constructor says this last.</summary>
    protected void Begin(IOutputSide output, params TTarget[] targets) => (Output, Targets) = (output, targets);

    protected void SampleOutput(ref BlockSample sample) => Output.Sample(ref sample);

    protected void CompleteOutput() => Output.Complete(Exceptions);

    /// <summary>A target has ended. If there is no memory for its exceptions, leaves the lock and throws.</summary>
    /// <returns>Whether it was the last one.</returns>
    protected bool FinishedNeedsLock(LockOwner? key, List<Exception>? exceptions)
    {
        try
        {
            if (exceptions is not null)
            {
                (Exceptions ??= []).AddRange(exceptions);
            }
        }
        catch
        {
            StateLock.Exit(key);
            throw;
        }

        return ++_finished == Targets.Length;
    }

    /// <summary>Makes a tuple of what the targets have. Throws nothing.</summary>
    /// <returns>What has to be done once no lock is held; <see cref="NoMemory"/> if the targets still have it.</returns>
    protected IAfterLock? EmitNeedsLock()
    {
        IAfterLock? after;
        try
        {
            after = AddTupleNeedsLock();
        }
        catch (OutOfMemoryException)
        {
            return NoMemory.Instance;
        }

        if (!ReferenceEquals(after, NoMemory.Instance))
        {
            foreach (TTarget target in Targets)
            {
                target.TakenNeedsLock();
            }
        }

        return after;
    }

    /// <summary>Hands out a tuple of what the targets have. They are told afterwards.</summary>
    protected abstract IAfterLock? AddTupleNeedsLock();

    protected void DeclineAll()
    {
        foreach (TTarget target in Targets)
        {
            target.Decline();
        }
    }
}

using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What the targets of a join share. After the locks are left, it fetches messages if the join is not greedy, and ends targets.</summary>
internal abstract class JoinShared : IAfterLock, IUnattended, IMeteredBlock
{
    public BiasedLock StateLock;
    private readonly int _targets;
    private ListedBlock _listed;

    /// <summary>How many tuples were made, and how many messages were thrown away. Each is counted once it is no longer in a queue.</summary>
    private long _made;
    private long _discarded;
    private List<Exception>? _exceptions;
    private int _finished;

    /// <summary>
    /// How often a fetch was asked for since the last one ended. While it is not 0, a fetch is queued or at work, and no target may end: the fetch may have
    /// consumed messages of some targets and not yet those of the others. Guarded by the lock.
    /// </summary>
    private int _fetchWanted;
    private bool _ending;

    /// <summary>How many targets have a message. Guarded by the lock.</summary>
    private int _withItems;

    /// <summary>A target declines, so a tuple may take its last message.</summary>
    private volatile bool _declines;

    protected JoinShared(BlockOptions options, int targets)
    {
        Options = options;
        _targets = targets;
        BlockListeners.Look();
    }

    public BlockOptions Options { get; }

    /// <summary>How many tuples were made. Guarded by the lock.</summary>
    public long MadeNeedsLock => _made;

    /// <summary>Whether messages may be on their way from the sources. Guarded by the lock.</summary>
    public bool IsFetchingNeedsLock => _fetchWanted > 0;

    Type IMeteredBlock.Type => Owner.GetType();

    string? IMeteredBlock.Name => Options.GivenName(Owner);

    /// <summary>Whether the block is complete.</summary>
    public abstract bool IsCompleted { get; }

    protected abstract IJoinTarget[] Targets { get; }

    protected abstract IDataflowBlock Owner { get; }

    BlockSample IMeteredBlock.Sample()
    {
        BlockSample sample = default;
        sample.Processed = _targets * Volatile.Read(ref _made);
        sample.Discarded = Volatile.Read(ref _discarded);
        foreach (IJoinTarget target in Targets)
        {
            sample.Queued += target.CountNow;
        }

        sample.Received = sample.Processed + sample.Discarded + sample.Queued;
        SampleOutput(ref sample);
        return sample;
    }

    /// <summary>Makes tuples while there is a message on each target.</summary>
    public IAfterLock? JoinNeedsLock()
    {
        if (_withItems < _targets)
        {
            return null;
        }

        IAfterLock? after = EmitNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        Volatile.Write(ref _made, _made + 1);
        if (!_declines)
        {
            return after;
        }

        foreach (IJoinTarget target in Targets)
        {
            if (target.IsDeclining && !target.HasItemNeedsLock)
            {
                return after is null ? new Rechecking(this) : new AfterBoth(after, new Rechecking(this));
            }
        }

        return after;
    }

    /// <summary>A target has got its first message.</summary>
    public void OnFilledNeedsLock()
    {
        _listed.Begin(this);
        _withItems++;
    }

    /// <summary>A target has no message any more.</summary>
    public void OnEmptiedNeedsLock() => _withItems--;

    /// <summary>Messages were thrown away, and are in no queue any more.</summary>
    public void OnDiscardedNeedsLock(int count) => Volatile.Write(ref _discarded, _discarded + count);

    /// <summary>A target has begun to decline. Before it looks whether it is empty.</summary>
    public void TargetDeclines() => _declines = true;

    private void Complete()
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Decline();
        }
    }

    /// <summary>What a target's ToString says.</summary>
    public string NameOf(IJoinTarget target) => $"Target{Array.IndexOf(Targets, target) + 1} of {Owner}";

    /// <summary>Takes no more messages, and fails if there is an exception.</summary>
    public void End(Exception? exception)
    {
        if (exception is null)
        {
            Complete();
        }
        else
        {
            Fault(exception);
        }
    }

    public void Fault(Exception exception)
    {
        // Once no further tuple can be made it is too late for faults from outside.
        LockOwner? key = StateLock.Enter();
        try
        {
            if (!_ending)
            {
                (_exceptions ??= []).Add(exception);
            }
        }
        finally
        {
            StateLock.Exit(key);
        }

        FailAll();
    }

    /// <summary>A work item failed: the block faults.</summary>
    public void WorkFailed(Exception error)
    {
        Targets[0].FailInside(error);
        FailAll();
    }

    public void FailAll()
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Fail(null);
        }
    }

    public void Cancelled()
    {
        FailAll();
        ReconsiderOutput();
    }

    /// <summary>A target declines and has nothing left, so no further tuple can be made: all end.</summary>
    public void TargetFinished(List<Exception>? exceptions)
    {
        bool first;
        bool last;
        LockOwner? key = StateLock.Enter();
        try
        {
            first = !_ending;
            _ending = true;
            last = ++_finished == Targets.Length;
            if (exceptions is not null)
            {
                (_exceptions ??= []).AddRange(exceptions);
            }
        }
        finally
        {
            StateLock.Exit(key);
        }

        if (first)
        {
            FailAll();
        }

        if (last)
        {
            CompleteOutput(_exceptions);
        }
    }

    /// <summary>The block is complete.</summary>
    protected void Ended()
    {
        foreach (IJoinTarget target in Targets)
        {
            target.StopListeningToToken();
        }

        _listed.End(this);
    }

    public void Free(int count, bool here)
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Free(count, here);
        }
    }

    /// <summary>A message was postponed, or room came.</summary>
    public void AfterLock()
    {
        if (!Array.TrueForAll(Targets, static target => target.CanFetch()) || !BeginFetch())
        {
            return;
        }

        try
        {
            if (Options.OnDefaultScheduler)
            {
                ThreadPool.UnsafeQueueUserWorkItem(static join => join.FetchUnattended(), this, preferLocal: false);
            }
            else
            {
                new Task(static join => ((JoinShared)join!).FetchUnattended(), this, TaskCreationOptions.DenyChildAttach).Start(Options.Scheduler);
            }
        }
        catch (Exception e)
        {
            FetchFailed(e);
        }
    }

    /// <summary>Makes a tuple. Throws nothing.</summary>
    /// <returns>What has to be done once no lock is held; <see cref="NoMemory"/> if the messages are still where they were.</returns>
    protected abstract IAfterLock? EmitNeedsLock();

    /// <summary>Counts what has left and what waits.</summary>
    protected abstract void SampleOutput(ref BlockSample sample);

    protected abstract void ReconsiderOutput();

    protected abstract void CompleteOutput(List<Exception>? exceptions);

    /// <summary>Asks for a fetch.</summary>
    /// <returns>Whether the caller has to start it. If not, the one at work looks once more.</returns>
    private bool BeginFetch()
    {
        LockOwner? key = StateLock.Enter();
        bool first = ++_fetchWanted == 1;
        StateLock.Exit(key);
        return first;
    }

    /// <summary>Ends the fetch, unless another was asked for since it looked.</summary>
    /// <param name="seen">How often a fetch had been asked for then. Null to end it anyway.</param>
    private bool TryEndFetch(int? seen)
    {
        LockOwner? key = StateLock.Enter();
        bool ends = seen is null || seen == _fetchWanted;
        _fetchWanted = ends ? 0 : _fetchWanted;
        StateLock.Exit(key);
        if (ends && _declines)
        {
            // A target that was asked to end meanwhile has waited for this.
            RecheckAll();
        }

        return ends;
    }

    private void RecheckAll()
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Recheck();
        }
    }

    private void FetchUnattended() => Unattended.Run(this, static join => join.Fetch(), static (join, error) => join.FetchFailed(error));

    /// <summary>A fetch does not begin: the block faults, and no target waits for the fetch.</summary>
    private void FetchFailed(Exception error)
    {
        WorkFailed(error);
        TryEndFetch(null);
    }

    /// <summary>Reserves one message on each target and takes them, or releases those that it got. Ends when a target has none.</summary>
    private void Fetch()
    {
        int seen;
        do
        {
            seen = Volatile.Read(ref _fetchWanted);
            try
            {
                while (Array.TrueForAll(Targets, static target => target.CanFetch()))
                {
                    FetchOne();
                }
            }
            catch (Exception e)
            {
                Targets[0].FailInside(e);
                FailAll();
                ReleaseAll();
            }
        }
        while (!TryEndFetch(seen));
    }

    private void FetchOne()
    {
        int reserved = 0;
        while (reserved < Targets.Length && Targets[reserved].TryReserve())
        {
            reserved++;
        }

        if (reserved < Targets.Length)
        {
            // Those that are released offer again.
            while (reserved > 0)
            {
                Targets[--reserved].ReleaseReserved();
            }

            return;
        }

        Array.ForEach(Targets, static target => target.ConsumeReserved());
        Array.ForEach(Targets, static target => target.StoreConsumed());
    }

    /// <summary>The join has failed: what it has reserved is somebody else's.</summary>
    private void ReleaseAll()
    {
        foreach (IJoinTarget target in Targets)
        {
            try
            {
                target.ReleaseReserved();
            }
            catch (Exception)
            {
                // The join has failed with what came first.
            }
        }
    }

    /// <summary>Lets targets see that the last of their messages has gone into a tuple.</summary>
    private sealed class Rechecking(JoinShared join) : IAfterLock
    {
        public void AfterLock() => join.RecheckAll();
    }
}

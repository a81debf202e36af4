using System.Threading.Tasks.Dataflow;
using Weir.Core;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A join that makes a tuple of single messages. After the locks are left, it fetches messages if it is not greedy, and ends targets.</summary>
internal abstract class JoinShared(BlockOptions options) : JoinBase<IJoinTarget>(options), IUnattended
{
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

    /// <summary>How many tuples were made. Guarded by the lock.</summary>
    public long MadeNeedsLock => Made;

    /// <summary>Whether messages may be on their way from the sources. Guarded by the lock.</summary>
    public bool IsFetchingNeedsLock => _fetchWanted > 0;

    /// <inheritdoc/>
    /// <remarks>Each message is counted as part of a tuple, or as thrown away, once it is no longer in a queue.</remarks>
    public override BlockSample Sample()
    {
        BlockSample sample = default;
        sample.Processed = Targets.Length * Volatile.Read(ref Made);
        sample.Discarded = Volatile.Read(ref Discarded);
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
        if (_withItems < Targets.Length)
        {
            return null;
        }

        IAfterLock? after = EmitNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        Volatile.Write(ref Made, Made + 1);
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
        Listed.Begin(this);
        _withItems++;
    }

    /// <summary>A target has no message any more.</summary>
    public void OnEmptiedNeedsLock() => _withItems--;

    /// <summary>Messages were thrown away, and are in no queue any more.</summary>
    public void OnDiscardedNeedsLock(int count) => Volatile.Write(ref Discarded, Discarded + count);

    /// <summary>A target has begun to decline. Before it looks whether it is empty.</summary>
    public void TargetDeclines() => _declines = true;

    public override void Fault(Exception exception)
    {
        // Once no further tuple can be made it is too late for faults from outside.
        LockOwner? key = StateLock.Enter();
        try
        {
            if (!_ending)
            {
                (Exceptions ??= []).Add(exception);
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

    /// <summary>A target declines and has nothing left, so no further tuple can be made: all end.</summary>
    public override void TargetFinished(List<Exception>? exceptions)
    {
        LockOwner? key = StateLock.Enter();
        bool first = !_ending;
        _ending = true;
        bool last = FinishedNeedsLock(key, exceptions);
        StateLock.Exit(key);
        if (first)
        {
            FailAll();
        }

        if (last)
        {
            CompleteOutput();
        }
    }

    public override void OutputLeft(int weight)
    {
        foreach (IJoinTarget target in Targets)
        {
            target.Free(weight, here: false);
        }
    }

    /// <summary>A message was postponed, or room came.</summary>
    public override void AfterLock()
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

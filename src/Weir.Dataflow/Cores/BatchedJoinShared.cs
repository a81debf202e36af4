using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>A join that makes a tuple of lists. As something to do after the locks, it closes all targets.</summary>
internal abstract class BatchedJoinShared : JoinBase<IBatchedJoinTarget>
{
    private readonly Retrying _retrying;
    private readonly long _limit;
    private int _left;
    private long _claimed;

    /// <summary>How many messages the last tuple has, if that are fewer than the others have.</summary>
    private int _rest;

    protected BatchedJoinShared(int batchSize, BlockOptions dataflowBlockOptions)
        : base(dataflowBlockOptions)
    {
        if (batchSize < 1)
        {
            throw new ArgumentOutOfRangeException(nameof(batchSize), "Number must be positive.");
        }

        if (!dataflowBlockOptions.Greedy)
        {
            throw new ArgumentException("Greedy must be true for this dataflow block.", nameof(dataflowBlockOptions));
        }

        if (dataflowBlockOptions.IsBounded)
        {
            throw new ArgumentException("BoundedCapacity must be Unbounded or -1 for this dataflow block.", nameof(dataflowBlockOptions));
        }

        BatchSize = _left = batchSize;
        _retrying = new Retrying(this);
        _limit = Options.MaxGroups > long.MaxValue / batchSize ? long.MaxValue : Options.MaxGroups * batchSize;
    }

    public int BatchSize { get; }

    public bool HasEnoughNeedsLock => Made >= Options.MaxGroups;

    /// <inheritdoc/>
    public override BlockSample Sample()
    {
        // The tuples are read first: a message leaves the present one before it is counted among them.
        BlockSample sample = default;
        long grouped = Volatile.Read(ref Made) * BatchSize;
        sample.Processed = grouped + Volatile.Read(ref _rest);
        sample.Discarded = Volatile.Read(ref Discarded);
        sample.Received = grouped + BatchSize - Volatile.Read(ref _left);
        sample.Queued = Math.Max(0, sample.Received - sample.Processed - sample.Discarded);
        SampleOutput(ref sample);
        return sample;
    }

    /// <summary>One of the messages that all targets together take in their life.</summary>
    /// <returns>Whether there is one to be had.</returns>
    public bool ClaimNeedsLock()
    {
        if (_claimed >= _limit)
        {
            return false;
        }

        _claimed++;
        return true;
    }

    /// <summary>A claimed message could not be had: others may claim it.</summary>
    public IAfterLock ReleaseClaimNeedsLock()
    {
        _claimed--;
        return _retrying;
    }

    /// <summary>One message more.</summary>
    public IAfterLock? CountNeedsLock()
    {
        Listed.Begin(this);
        if (_left > 1)
        {
            _left--;
            return null;
        }

        IAfterLock? after = EmitNeedsLock();
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return after;
        }

        _left = BatchSize;
        Volatile.Write(ref Made, Made + 1);
        return !HasEnoughNeedsLock ? after : after is null ? this : new AfterBoth(after, this);
    }

    /// <summary>Messages were thrown away.</summary>
    public void OnDiscardedNeedsLock(int count) => Discarded += count;

    /// <summary>Closes all targets.</summary>
    public override void AfterLock() => DeclineAll();

    public override void Fault(Exception exception)
    {
        Targets[0].Fail(exception);
        FailAll();
    }

    /// <summary>A target is closed. After the last one, what has been collected is handed out.</summary>
    public override void TargetFinished(List<Exception>? exceptions)
    {
        IAfterLock? after = null;
        LockOwner? key = StateLock.Enter();
        bool last = FinishedNeedsLock(key, exceptions);
        if (last && Exceptions is null && !Options.Token.IsCancellationRequested && _left < BatchSize && !HasEnoughNeedsLock)
        {
            after = EmitNeedsLock();
            _rest = ReferenceEquals(after, NoMemory.Instance) ? 0 : BatchSize - _left;
        }

        StateLock.Exit(key);
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            after = null;
            Exceptions = [NoMemory.Exception()];
        }

        after?.AfterLock();
        if (last)
        {
            CompleteOutput();
        }
    }

    private sealed class Retrying(BatchedJoinShared join) : IAfterLock
    {
        public void AfterLock()
        {
            foreach (IBatchedJoinTarget target in join.Targets)
            {
                target.Retry();
            }
        }
    }
}

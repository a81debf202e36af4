using System.Threading.Tasks.Dataflow;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What the targets of a batched join share. As something to do after the locks it closes all targets.</summary>
internal abstract class BatchedJoinShared : IAfterLock, IMeteredBlock
{
    public BiasedLock StateLock;
    private readonly BlockOptions _options;
    private readonly Retrying _retrying;
    private List<Exception>? _exceptions;
    private int _left;
    private readonly long _limit;
    private long _claimed;
    private long _made;
    private int _finished;
    private ListedBlock _listed;
    private long _discarded;

    /// <summary>How many messages the last tuple has, if that are fewer than the others have.</summary>
    private int _rest;

    protected BatchedJoinShared(int batchSize, BlockOptions dataflowBlockOptions)
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
        _options = dataflowBlockOptions;
        _retrying = new Retrying(this);
        _limit = _options.MaxGroups > long.MaxValue / batchSize ? long.MaxValue : _options.MaxGroups * batchSize;
        BlockListeners.Look();
    }

    public int BatchSize { get; }

    public BlockOptions Options => _options;

    public bool HasEnoughNeedsLock => _made >= _options.MaxGroups;

    Type IMeteredBlock.Type => Owner.GetType();

    string? IMeteredBlock.Name => _options.GivenName(Owner);

    /// <summary>Whether the block is complete.</summary>
    public abstract bool IsCompleted { get; }

    protected abstract IBatchedJoinTarget[] Targets { get; }

    protected abstract IDataflowBlock Owner { get; }

    BlockSample IMeteredBlock.Sample()
    {
        // The tuples are read first: a message leaves the present one before it is counted among them.
        BlockSample sample = default;
        long grouped = Volatile.Read(ref _made) * BatchSize;
        sample.Processed = grouped + Volatile.Read(ref _rest);
        sample.Discarded = Volatile.Read(ref _discarded);
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
        _listed.Begin(this);
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
        Volatile.Write(ref _made, _made + 1);
        return !HasEnoughNeedsLock ? after : after is null ? this : new AfterBoth(after, this);
    }

    /// <summary>Messages were thrown away.</summary>
    public void OnDiscardedNeedsLock(int count) => _discarded += count;

    /// <summary>Closes all targets.</summary>
    public void AfterLock()
    {
        foreach (IBatchedJoinTarget target in Targets)
        {
            target.Decline();
        }
    }

    /// <summary>What a target's ToString says.</summary>
    public string NameOf(IBatchedJoinTarget target) => $"Target{Array.IndexOf(Targets, target) + 1} of {Owner}";

    /// <summary>Takes no more messages, and fails if there is an exception.</summary>
    public void End(Exception? exception)
    {
        if (exception is null)
        {
            AfterLock();
        }
        else
        {
            Fault(exception);
        }
    }

    public void Fault(Exception exception)
    {
        Targets[0].Fail(exception);
        FailAll();
    }

    public void FailAll()
    {
        foreach (IBatchedJoinTarget target in Targets)
        {
            target.Fail(null);
        }
    }

    public void Cancelled()
    {
        FailAll();
        ReconsiderOutput();
    }

    /// <summary>A target is closed. After the last one, what has been collected is handed out.</summary>
    public void TargetFinished(List<Exception>? exceptions)
    {
        IAfterLock? after = null;
        bool last;
        LockOwner? key = StateLock.Enter();
        try
        {
            last = ++_finished == Targets.Length;
            if (exceptions is not null)
            {
                (_exceptions ??= []).AddRange(exceptions);
            }

            if (last && _exceptions is null && !_options.Token.IsCancellationRequested && _left < BatchSize && !HasEnoughNeedsLock)
            {
                after = EmitNeedsLock();
                if (ReferenceEquals(after, NoMemory.Instance))
                {
                    after = null;
                    _exceptions = [NoMemory.Exception()];
                }
                else
                {
                    _rest = BatchSize - _left;
                }
            }
        }
        finally
        {
            StateLock.Exit(key);
        }

        after?.AfterLock();
        if (last)
        {
            CompleteOutput(_exceptions);
        }
    }

    /// <summary>The block is complete.</summary>
    protected void Ended()
    {
        foreach (IBatchedJoinTarget target in Targets)
        {
            target.StopListeningToToken();
        }

        _listed.End(this);
    }

    /// <summary>Makes a tuple of what the targets have. Throws nothing.</summary>
    /// <returns>What has to be done once no lock is held; <see cref="NoMemory"/> if the targets still have it.</returns>
    protected abstract IAfterLock? EmitNeedsLock();

    /// <summary>Counts what has left and what waits.</summary>
    protected abstract void SampleOutput(ref BlockSample sample);

    protected abstract void ReconsiderOutput();

    protected abstract void CompleteOutput(List<Exception>? exceptions);

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

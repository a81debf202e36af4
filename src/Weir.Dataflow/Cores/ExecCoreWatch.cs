using System.Runtime.CompilerServices;
using Weir.Dataflow.Links;
using Weir.Dataflow.Metering;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <content>
/// What listeners read and are told. Counts are read when somebody asks. Each call is told only while somebody wants that: the worker finds out when it takes
/// some messages together, and whoever wakes it does so too.
/// </content>
internal abstract partial class ExecCore<T> : IMeteredBlock
{
    private bool _isWatched;

    Type IMeteredBlock.Type => Self.GetType();

    string? IMeteredBlock.Name => Options.GivenName(Self);

    /// <summary>How many results wait to be taken, read without a lock.</summary>
    protected virtual int OutputNow => 0;

    /// <summary>How many results have left, read without a lock.</summary>
    protected virtual long SentNow => 0;

    BlockSample IMeteredBlock.Sample()
    {
        BlockSample sample = default;
        if (_queue is { } queue)
        {
            // How many were taken is read before what is in its call, and before how many came.
            long taken = queue.TakenNow;
            long inFlight = IsSerial ? queue.IsInCall ? 1 : 0 : Math.Min(_workers.Busy, Options.Parallelism);
            sample.Discarded = queue.DiscardedNow;
            sample.Processed = Math.Max(0, taken - inFlight - sample.Discarded);
            sample.InFlight = inFlight;
            sample.Received = queue.WrittenNow;
            sample.Queued = _dropped ? 0 : Math.Max(0, sample.Received - taken);
            sample.Output = OutputNow;
            sample.Sent = SentNow;
        }

        return sample;
    }

    /// <summary>The block is complete.</summary>
    protected void EndMetering()
    {
        _queue?.Listed.End(this);
    }

    /// <summary>A message that was taken is thrown away. For the reader.</summary>
    protected void DiscardTaken() => _queue!.DiscardTaken();

    /// <summary>An asynchronous call has ended, and this thread deals with its result.</summary>
    protected CallWatch? CallEnds(out Exception? outer)
    {
        CallWatch? watch = _queue!.Watch;
        outer = watch is null ? null : CallWatch.Enter();
        return watch;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool Call(T item, long id) => _isWatched ? CallWatched(item, id) : Process(item, id);

    private bool CallWatched(T item, long id)
    {
        CallWatch watch = _queue!.Watch!;
        Exception? outer = watch.Begin(id);
        bool isDone = Process(item, id);
        watch.Left(id, isDone, outer);
        return isDone;
    }

    private void Failed(Exception error)
    {
        if (_queue is { } queue)
        {
            Exception? failure = Protocol.IsCancellation(error) ? null : error;
            if (failure is not null && queue.Watch is not null)
            {
                CallWatch.Failed(failure);
            }

            queue.Listed.Failed(this, failure);
        }
    }

    /// <summary>Whether listeners want each call may have changed. Runs listeners' code the first time that there are any: not under a lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void LookForListeners()
    {
        BlockListeners.Look();
        if (BlockListeners.WantsCalls != _isWatched)
        {
            SwitchWatch();
        }
    }

    private void SwitchWatch()
    {
        LockOwner? key = StateLock.Enter();
        try
        {
            if (_queue is { } queue)
            {
                bool wants = BlockListeners.WantsCalls;
                if (wants && queue.Watch is null)
                {
                    queue.Watch = queue.Listed.Label(this) is { } label ? new CallWatch(label) : null;
                }

                Volatile.Write(ref _isWatched, wants && queue.Watch is not null);
            }
        }
        catch (OutOfMemoryException)
        {
            // Then nobody is told.
        }
        finally
        {
            StateLock.Exit(key);
        }
    }
}

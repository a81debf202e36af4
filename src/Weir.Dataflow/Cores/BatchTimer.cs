using Weir.Core;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>Tells when the first message of a batch has waited long enough.</summary>
internal sealed class BatchTimer : IAfterLock, IUnattended, IDisposable
{
    /// <summary>The longest time that a timer accepts.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    private readonly IUnattended _block;
    private readonly Action _flush;
    private readonly TimeSpan _after;
    private readonly TimeProvider _timeProvider;
    private readonly ITimer _timer;
    private long _begun;

    public BatchTimer(IUnattended block, Action flush, TimeSpan after, TimeProvider timeProvider)
    {
        _block = block;
        _flush = flush;
        _after = after;
        _timeProvider = timeProvider;
        _timer = timeProvider.CreateTimer(
            static timer => Unattended.Run((BatchTimer)timer!, static timer => timer.Fire()), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>A batch has got its first message.</summary>
    public void AfterLock()
    {
        try
        {
            // Before the timer is set: a timer that fires late then sees the time of the newest batch. With an older time, it would end that batch too early.
            Volatile.Write(ref _begun, _timeProvider.GetTimestamp());
            _timer.Change(_after, Timeout.InfiniteTimeSpan);
        }
        catch (Exception e)
        {
            // The clock is the user's, and the message is stored: the block faults, as when the timer fails. If this threw, who has just sent it, or taken
            // the batch before, would not come to tell the senders that wait, and the block would take nothing any more.
            WorkFailed(e);
        }
    }

    /// <summary>The timer failed: the block faults.</summary>
    public void WorkFailed(Exception error) => _block.WorkFailed(error);

    /// <summary>The block has ended, and has its outcome. Throws nothing: the timer may be the user's, and who waits for the end has yet to be told.</summary>
    public void Dispose()
    {
        try
        {
            _timer.Dispose();
        }
        catch (Exception)
        {
            // See above.
        }
    }

    private void Fire()
    {
        // It was set again after it fired: the time of that batch is not up yet.
        TimeSpan left = _after - _timeProvider.GetElapsedTime(Volatile.Read(ref _begun));
        if (left > TimeSpan.FromMilliseconds(1))
        {
            _timer.Change(left, Timeout.InfiniteTimeSpan);
        }
        else
        {
            _flush();
        }
    }
}

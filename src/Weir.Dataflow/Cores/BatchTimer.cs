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
        // Before the timer is set: a timer that fires late then sees the time of the newest batch. With an older time, it would end that batch too early.
        Volatile.Write(ref _begun, _timeProvider.GetTimestamp());
        _timer.Change(_after, Timeout.InfiniteTimeSpan);
    }

    /// <summary>The timer failed: the block faults.</summary>
    public void WorkFailed(Exception error) => _block.WorkFailed(error);

    public void Dispose() => _timer.Dispose();

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

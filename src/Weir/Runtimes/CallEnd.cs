using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>What a runtime's call cleans up when it ends: the timer of its deadline, and its entry among the running calls.</summary>
internal class CallEnd(RuntimeCalls calls)
{
    private readonly Lock _lock = new();
    private Pump? _run;
    private ITimer? _deadline;
    private bool _ended;

    /// <summary>Adds the run to the running calls and starts its deadline.</summary>
    public void Begin(Pump run, TimeSpan? batchTimeout, TimeProvider time)
    {
        _run = run;
        calls.Add(this);
        if (batchTimeout is { } timeout)
        {
            ITimer timer = WatchTime.For(time).CreateTimer(static state => ((CallEnd)state!).Expire(), this, timeout, Timeout.InfiniteTimeSpan);
            using (_lock.Hold())
            {
                if (!_ended)
                {
                    _deadline = timer;
                    return;
                }
            }

            timer.Dispose();
        }
    }

    /// <summary>The counts of the call so far.</summary>
    public virtual RunSample Sample() => _run!.Sample();

    /// <summary>Ends the call without waiting for running items.</summary>
    public void Abort(ItemStatus status) => _run!.Abort(status, null);

    public void Set()
    {
        ITimer? timer;
        using (_lock.Hold())
        {
            _ended = true;
            timer = _deadline;
            _deadline = null;
        }

        calls.Remove(this);
        timer?.Dispose();
    }

    private void Expire()
    {
        const string text = "The batch did not end within its time limit.";
        _run!.Abort(ItemStatus.TimedOut, new TaskCanceledException(text, new TimeoutException(text)));
    }
}

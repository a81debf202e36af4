using System.Diagnostics.CodeAnalysis;

namespace Weir.PostgreSql;

/// <summary>
/// Renews the leases of a source, on a thread of its own and with calls that block. Handlers that hold all threads of the pool would let the leases end
/// otherwise, and others would get items that still run.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "The thread disposes of them at its end.")]
internal sealed class LeaseThread
{
    private const int StackBytes = 256 * 1024;

    private readonly ConsumerLeases _leases;
    private readonly TimeSpan _period;
    private readonly CancellationToken _stop;
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly AutoResetEvent _due = new(false);
    private readonly ITimer? _timer;

    /// <summary>Starts the thread.</summary>
    /// <param name="leases">The leases.</param>
    /// <param name="period">How often they are renewed.</param>
    /// <param name="clock">Measures the period. The system's needs no timer, whose callback would wait for the pool.</param>
    /// <param name="stop">Ends the thread.</param>
    public LeaseThread(ConsumerLeases leases, TimeSpan period, TimeProvider clock, CancellationToken stop)
    {
        (_leases, _period, _stop) = (leases, period, stop);
        _timer = clock == TimeProvider.System ? null : clock.CreateTimer(
            static due =>
            {
                try
                {
                    ((AutoResetEvent)due!).Set();
                }
                catch (Exception)
                {
                    // The thread has ended just now.
                }
            },
            _due,
            period,
            period);
        new Thread(Run, StackBytes) { IsBackground = true, Name = "Weir leases" }.Start();
    }

    /// <summary>Completes when the thread has ended.</summary>
    public Task Ended => _ended.Task;

    private void Run()
    {
        // Nothing but the loop throws, and that is caught: an exception would end the process.
        TimeSpan patience = _timer is null ? _period : Timeout.InfiniteTimeSpan;
        WaitHandle[] ends = [_due, _stop.WaitHandle];
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                WaitHandle.WaitAny(ends, patience);
                if (!_stop.IsCancellationRequested)
                {
                    _leases.Renew(_period, _stop);
                }
            }
            catch (Exception)
            {
                // The next try comes before the lease ends; and a source that reads hears of it itself.
            }
        }

        _timer?.Dispose();
        _due.Dispose();
        _ended.SetResult();
    }
}

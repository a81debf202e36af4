using Weir.Core;
using Weir.Core.Threads;
using TimerDelay = Weir.Resilience.TimerDelay;

namespace Weir.Observability;

/// <summary>Calls a user's callback at intervals, never two at a time, and once at the end. It never waits for the callback longer than its timeout.</summary>
internal sealed class PeriodicReport(TimeSpan interval, TimeSpan callbackTimeout, TimeProvider time, Func<bool, ValueTask> report)
{
    private readonly Lock _lock = new();
    private ITimer? _timer;
    private Task _current = Task.CompletedTask;
    private bool _ended;

    // A report that could not be made is one that is missing. A timer counts whole milliseconds, and with a period of none it would fire only once.
    public void Start()
    {
        TimeSpan period = interval == Timeout.InfiniteTimeSpan ? interval : TimerDelay.RoundUp(interval);
        _timer = time.CreateTimer(
            static report => Unattended.Run((PeriodicReport)report!, static report => report.Tick()), this, period, period);
    }

    /// <summary>Makes the final report.</summary>
    public async Task EndAsync()
    {
        Task current;
        lock (_lock)
        {
            _ended = true;
            current = _current;
        }

        _timer?.Dispose();
        long started = time.GetTimestamp();
        await WaitAsync(current, callbackTimeout / 2).ConfigureAwait(false);

        // On another thread, because a callback may block the thread it is called on.
        Task last = Task.Run(() => ReportAsync(isFinal: true));
        await WaitAsync(last, callbackTimeout - time.GetElapsedTime(started)).ConfigureAwait(false);
    }

    private void Tick()
    {
        lock (_lock)
        {
            if (!_ended && _current.IsCompleted)
            {
                _current = Task.Run(() => ReportAsync(isFinal: false));
            }
        }
    }

    private async Task ReportAsync(bool isFinal)
    {
        try
        {
            await report(isFinal).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A callback's failure must not fail the run, as the options document.
        }
    }

    private async Task WaitAsync(Task callback, TimeSpan limit)
    {
        if (!callback.IsCompleted && limit > TimeSpan.Zero)
        {
            // Not Task.WaitAsync: it leaks its timer if the task ends while the wait is being set up.
            TaskCompletionSource timeIsUp = new(TaskCreationOptions.RunContinuationsAsynchronously);
            using ITimer timer = time.CreateTimer(
                static timeIsUp => Unattended.Run(
                    (TaskCompletionSource)timeIsUp!, static timeIsUp => timeIsUp.TrySetResult(), static (timeIsUp, _) => timeIsUp.TrySetResult()),
                timeIsUp,
                limit,
                Timeout.InfiniteTimeSpan);
            await Task.WhenAny(callback, timeIsUp.Task).ConfigureAwait(false);
        }
    }
}

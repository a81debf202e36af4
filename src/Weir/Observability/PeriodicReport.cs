namespace Weir.Observability;

/// <summary>Calls a user's callback at intervals, never two at a time, and once at the end; and never waits for it longer than it was told.</summary>
internal sealed class PeriodicReport(TimeSpan interval, TimeSpan callbackTimeout, TimeProvider time, Func<bool, ValueTask> report)
{
    private readonly Lock _lock = new();
    private ITimer? _timer;
    private Task _current = Task.CompletedTask;
    private bool _ended;

    public void Start() => _timer = time.CreateTimer(static report => ((PeriodicReport)report!).Tick(), this, interval, interval);

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

        // On a thread of its own, as a callback may block the one it is called on.
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
            // A run does not fail because somebody failed to watch it. Documented at the options.
        }
    }

    private async Task WaitAsync(Task callback, TimeSpan limit)
    {
        if (!callback.IsCompleted && limit > TimeSpan.Zero)
        {
            // Not Task.WaitAsync, which leaves its timer behind when the task ends while it is being set up.
            TaskCompletionSource timeIsUp = new(TaskCreationOptions.RunContinuationsAsynchronously);
            using ITimer timer = time.CreateTimer(static timeIsUp => ((TaskCompletionSource)timeIsUp!).TrySetResult(), timeIsUp, limit, Timeout.InfiniteTimeSpan);
            await Task.WhenAny(callback, timeIsUp.Task).ConfigureAwait(false);
        }
    }
}

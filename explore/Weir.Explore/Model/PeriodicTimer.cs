using System.Threading.Tasks.Sources;

namespace Weir.Explore.Model;

/// <summary>
/// A timer whose ticks are awaited, by one at a time. As on the platform, a signal (a tick, the end, a cancellation) is set first and told to who waits after
/// that, so others may come in between; ticks that nobody awaits are one.
/// </summary>
[Replaces("System.Threading.PeriodicTimer")]
internal sealed class PeriodicTimer : IDisposable, IValueTaskSource<bool>
{
    private readonly ITimer _timer;
    private CompletionCore<bool> _core;
    private CancellationTokenRegistration _registration;
    private bool _isSignaled;
    private bool _isStopped;
    private bool _isAwaited;

    public PeriodicTimer(TimeSpan period)
        : this(period, Time.Provider)
    {
    }

    public PeriodicTimer(TimeSpan period, TimeProvider timeProvider)
    {
        Check(period, nameof(period));
        ArgumentNullException.ThrowIfNull(timeProvider);
        Period = period;
        using AsyncFlowControl flow = ExecutionContext.IsFlowSuppressed() ? default : ExecutionContext.SuppressFlow();
        _timer = timeProvider.CreateTimer(_ => Signal(), null, period, period);
    }

    public TimeSpan Period
    {
        get;
        set
        {
            Check(value, nameof(value));
            field = value;
            if (_timer is not null)
            {
                Points.Me.StepOn(this);
                ObjectDisposedException.ThrowIf(!_timer.Change(value, value), this);
            }
        }
    }

    public ValueTask<bool> WaitForNextTickAsync(CancellationToken cancellationToken)
    {
        Points.Me.StepOn(this);
        if (_isAwaited)
        {
            throw new InvalidOperationException();
        }

        Effects.ObserveToken(ref cancellationToken);
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<bool>(cancellationToken);
        }

        if (_isSignaled)
        {
            _isSignaled = _isStopped;
            return new ValueTask<bool>(!_isStopped);
        }

        _isAwaited = true;
        if (cancellationToken.CanBeCanceled)
        {
            _registration = Registrations.UnsafeRegister(ref cancellationToken, (_, token) => Signal(token: token), null);
        }

        return new ValueTask<bool>(this, _core.Version);
    }

    public bool GetResult(short token)
    {
        if (_registration != default)
        {
            Registrations.Dispose(ref _registration);
        }

        Points.Me.StepOn(this);
        try
        {
            _core.GetResult(token);
        }
        finally
        {
            _core.Reset();
            (_registration, _isAwaited, _isSignaled) = (default, false, _isStopped);
        }

        return !_isStopped;
    }

    public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);
    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    public void Dispose()
    {
        _timer.Dispose();
        Signal(isStop: true);
    }

    private static void Check(TimeSpan period, string name)
    {
        if (period != Timeout.InfiniteTimeSpan && (long)period.TotalMilliseconds is < 1 or > uint.MaxValue - 1)
        {
            throw new ArgumentOutOfRangeException(name);
        }
    }

    private void Signal(bool isStop = false, CancellationToken token = default)
    {
        Points.Me.StepOn(this);
        _isStopped |= isStop;
        if (_isSignaled)
        {
            return;
        }

        _isSignaled = true;
        if (!_isAwaited)
        {
            return;
        }

        if (token.IsCancellationRequested)
        {
            _core.SetException(new OperationCanceledException(token));
        }
        else
        {
            _core.SetResult(true);
        }
    }
}

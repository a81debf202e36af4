namespace Weir.Explore.Model;

/// <summary>A semaphore of the schedule. Tasks that wait are served in their order, before threads, and threads in any order.</summary>
[Replaces("System.Threading.SemaphoreSlim")]
internal sealed class SemaphoreSlim(int initialCount, int maxCount) : IDisposable
{
    private readonly List<TaskCompletionSource<bool>> _waiting = [];
    private bool _isDisposed;

    public SemaphoreSlim(int initialCount)
        : this(initialCount, int.MaxValue)
    {
    }

    public int CurrentCount { get; private set; } = initialCount;

    public void Wait() => _ = Wait(Timeout.InfiniteTimeSpan, CancellationToken.None);

    public void Wait(CancellationToken cancellationToken) => _ = Wait(Timeout.InfiniteTimeSpan, cancellationToken);

    public bool Wait(int millisecondsTimeout) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), CancellationToken.None);

    public bool Wait(TimeSpan timeout) => Wait(timeout, CancellationToken.None);

    public bool Wait(int millisecondsTimeout, CancellationToken cancellationToken) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), cancellationToken);

    public bool Wait(TimeSpan timeout, CancellationToken cancellationToken)
    {
        ControlledThread me = Points.Me;
        me.Step();
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        cancellationToken.ThrowIfCancellationRequested();
        _ = me.Block("a semaphore", () => CurrentCount > 0 || cancellationToken.IsCancellationRequested, timeout < TimeSpan.Zero ? null : timeout);
        Order.Platform();
        if (CurrentCount > 0)
        {
            CurrentCount--;
            return true;
        }

        cancellationToken.ThrowIfCancellationRequested();
        return false;
    }

    public Task WaitAsync() => WaitAsync(Timeout.InfiniteTimeSpan, CancellationToken.None);

    public Task WaitAsync(CancellationToken cancellationToken) => WaitAsync(Timeout.InfiniteTimeSpan, cancellationToken);

    public Task<bool> WaitAsync(int millisecondsTimeout) => WaitAsync(TimeSpan.FromMilliseconds(millisecondsTimeout), CancellationToken.None);

    public Task<bool> WaitAsync(TimeSpan timeout) => WaitAsync(timeout, CancellationToken.None);

    public Task<bool> WaitAsync(int millisecondsTimeout, CancellationToken cancellationToken) =>
        WaitAsync(TimeSpan.FromMilliseconds(millisecondsTimeout), cancellationToken);

    public Task<bool> WaitAsync(TimeSpan timeout, CancellationToken cancellationToken)
    {
        Points.Me.Step();
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<bool>(cancellationToken);
        }

        if (CurrentCount > 0)
        {
            CurrentCount--;
            return Task.FromResult(true);
        }

        if (timeout == TimeSpan.Zero)
        {
            return Task.FromResult(false);
        }

        TaskCompletionSource<bool> waiter = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _waiting.Add(waiter);
        ITimer? timer = timeout < TimeSpan.Zero ? null : Time.Provider.CreateTimer(
            _ =>
            {
                if (_waiting.Remove(waiter))
                {
                    waiter.SetResult(false);
                }
            },
            null, timeout, Timeout.InfiniteTimeSpan);
        cancellationToken.UnsafeRegister(
            (_, token) =>
            {
                if (_waiting.Remove(waiter))
                {
                    timer?.Dispose();
                    waiter.SetCanceled(token);
                }
            },
            null);
        return waiter.Task;
    }

    public int Release() => Release(1);

    public int Release(int releaseCount)
    {
        Points.Me.Step();
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        int before = CurrentCount;
        if (maxCount - before < releaseCount)
        {
            throw new SemaphoreFullException();
        }

        CurrentCount += releaseCount;
        while (CurrentCount > 0 && _waiting.Count > 0)
        {
            TaskCompletionSource<bool> first = _waiting[0];
            _waiting.RemoveAt(0);
            CurrentCount--;
            first.SetResult(true);
        }

        return before;
    }

    public void Dispose() => _isDisposed = true;
}

namespace Weir.Explore.Model;

/// <summary>A semaphore of the schedule. Tasks that wait are served in their order, before threads, and threads in any order.</summary>
[Replaces("System.Threading.SemaphoreSlim")]
internal sealed class SemaphoreSlim(int initialCount, int maxCount) : IDisposable
{
    private readonly List<TaskCompletionSource<bool>> _waiting = [];
    private int _count = initialCount;
    private bool _isDisposed;

    public SemaphoreSlim(int initialCount)
        : this(initialCount, int.MaxValue)
    {
    }

    public int CurrentCount => (int)Effects.Observe((ulong)_count);

    public void Wait() => _ = Wait(Timeout.InfiniteTimeSpan, CancellationToken.None);

    public void Wait(CancellationToken cancellationToken) => _ = Wait(Timeout.InfiniteTimeSpan, cancellationToken);

    public bool Wait(int millisecondsTimeout) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), CancellationToken.None);

    public bool Wait(TimeSpan timeout) => Wait(timeout, CancellationToken.None);

    public bool Wait(int millisecondsTimeout, CancellationToken cancellationToken) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), cancellationToken);

    public bool Wait(TimeSpan timeout, CancellationToken cancellationToken)
    {
        Points.Me.StepOn(null);
        Effects.Observe(_isDisposed);
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        bool isTaken = Waits.For("a semaphore", () => _count > 0, timeout, cancellationToken);
        _count -= isTaken ? 1 : 0;
        return isTaken;
    }

    public Task WaitAsync() => WaitAsync(Timeout.InfiniteTimeSpan, CancellationToken.None);

    public Task WaitAsync(CancellationToken cancellationToken) => WaitAsync(Timeout.InfiniteTimeSpan, cancellationToken);

    public Task<bool> WaitAsync(int millisecondsTimeout) => WaitAsync(TimeSpan.FromMilliseconds(millisecondsTimeout), CancellationToken.None);

    public Task<bool> WaitAsync(TimeSpan timeout) => WaitAsync(timeout, CancellationToken.None);

    public Task<bool> WaitAsync(int millisecondsTimeout, CancellationToken cancellationToken) =>
        WaitAsync(TimeSpan.FromMilliseconds(millisecondsTimeout), cancellationToken);

    public Task<bool> WaitAsync(TimeSpan timeout, CancellationToken cancellationToken)
    {
        Points.Me.StepOn(null);
        Effects.ObserveToken(ref cancellationToken);
        Effects.Observe(_count > 0);
        Effects.Observe(_isDisposed);
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<bool>(cancellationToken);
        }

        if (_count > 0)
        {
            _count--;
            return Task.FromResult(true);
        }

        if (timeout == TimeSpan.Zero)
        {
            return Task.FromResult(false);
        }

        Effects.Write(this);
        TaskCompletionSource<bool> waiter = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _waiting.Add(waiter);
        ITimer? timer = null;
        timer = timeout < TimeSpan.Zero ? null : Time.Provider.CreateTimer(_ => GiveUp(() => waiter.SetResult(false)), null, timeout, Timeout.InfiniteTimeSpan);
        Effects.Write(Registrations.SourceOf(cancellationToken));
        cancellationToken.UnsafeRegister((_, token) => GiveUp(() => waiter.SetCanceled(token)), null);
        return waiter.Task;

        void GiveUp(Action how)
        {
            Effects.Write(this);
            if (_waiting.Remove(waiter))
            {
                timer?.Dispose();
                Effects.EndTask(waiter.Task);
                how();
            }
        }
    }

    public int Release() => Release(1);

    public int Release(int releaseCount)
    {
        Points.Me.StepOn(null);
        Effects.Write(_waiting.Count > 0 ? this : null);
        Effects.Observe((ulong)_count);
        Effects.Observe(_isDisposed);
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        int before = _count;
        if (maxCount - before < releaseCount)
        {
            throw new SemaphoreFullException();
        }

        _count += releaseCount;
        while (_count > 0 && _waiting.Count > 0)
        {
            TaskCompletionSource<bool> first = _waiting[0];
            _waiting.RemoveAt(0);
            _count--;
            Effects.EndTask(first.Task);
            first.SetResult(true);
        }

        return before;
    }

    public void Dispose() => _isDisposed = true;
}

[Replaces("System.Threading.ManualResetEventSlim")]
internal sealed class ManualResetEventSlim(bool initialState) : IDisposable
{
    private bool _isSet = initialState;

    public ManualResetEventSlim()
        : this(false)
    {
    }

    public ManualResetEventSlim(bool initialState, int spinCount)
        : this(initialState)
    {
    }

    public bool IsSet
    {
        get
        {
            Points.Me.StepOn(null);
            return Effects.Observe(_isSet);
        }
    }

    public void Set()
    {
        Points.Me.StepOn(this);
        _isSet = true;
    }

    public void Reset()
    {
        Points.Me.StepOn(this);
        _isSet = false;
    }

    public void Wait() => _ = Wait(Timeout.InfiniteTimeSpan, CancellationToken.None);

    public void Wait(CancellationToken cancellationToken) => _ = Wait(Timeout.InfiniteTimeSpan, cancellationToken);

    public bool Wait(int millisecondsTimeout) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), CancellationToken.None);

    public bool Wait(TimeSpan timeout) => Wait(timeout, CancellationToken.None);

    public bool Wait(int millisecondsTimeout, CancellationToken cancellationToken) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), cancellationToken);

    public bool Wait(TimeSpan timeout, CancellationToken cancellationToken)
    {
        Points.Me.StepOn(null);
        return Waits.For("an event", () => _isSet, timeout, cancellationToken);
    }

    public void Dispose()
    {
    }
}

/// <summary>Each spin lets the others go first.</summary>
[Replaces("System.Threading.SpinWait")]
internal struct SpinWait
{
    private const int SpinsBeforeYield = 10;

    public int Count { get; private set; }

    public readonly bool NextSpinWillYield => Count >= SpinsBeforeYield;

    public static void SpinUntil(Func<bool> condition) => SpinUntil(condition, Timeout.InfiniteTimeSpan);

    public static bool SpinUntil(Func<bool> condition, int millisecondsTimeout) => SpinUntil(condition, TimeSpan.FromMilliseconds(millisecondsTimeout));

    public static bool SpinUntil(Func<bool> condition, TimeSpan timeout)
    {
        long start = Points.Me.Execution.Now;
        while (!condition())
        {
            if (timeout >= TimeSpan.Zero && Points.Me.Execution.Now - start >= timeout.Ticks)
            {
                return false;
            }

            Points.Me.Yield();
        }

        return true;
    }

    public void SpinOnce()
    {
        Count++;
        Points.Me.Yield();
    }

    public void SpinOnce(int sleep1Threshold) => SpinOnce();

    public void Reset() => Count = 0;
}

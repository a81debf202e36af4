namespace Weir.Explore.Model;

/// <summary>What threads wait for, until it is disposed of.</summary>
internal abstract class Waitable : IDisposable
{
    protected bool IsDisposed { get; private set; }

    public void Wait() => _ = Wait(Timeout.InfiniteTimeSpan, CancellationToken.None);
    public void Wait(CancellationToken cancellationToken) => _ = Wait(Timeout.InfiniteTimeSpan, cancellationToken);
    public bool Wait(int millisecondsTimeout) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), CancellationToken.None);
    public bool Wait(TimeSpan timeout) => Wait(timeout, CancellationToken.None);
    public bool Wait(int millisecondsTimeout, CancellationToken cancellationToken) => Wait(TimeSpan.FromMilliseconds(millisecondsTimeout), cancellationToken);

    public abstract bool Wait(TimeSpan timeout, CancellationToken cancellationToken);

    public void Dispose()
    {
        ControlledThread.Current?.StepOn(this);
        IsDisposed = true;
    }

    protected void ThrowIfDisposed()
    {
        Effects.Observe(IsDisposed);
        ObjectDisposedException.ThrowIf(IsDisposed, this);
    }
}

/// <summary>
/// A semaphore of the schedule, which serves as the platform's: threads that wait, in any order, before tasks that wait, in theirs. A thread that comes while
/// tasks wait stands in line with them. A wait that can be given up is decided later, on the pool: until then, a permit may still come to it.
/// </summary>
[Replaces("System.Threading.SemaphoreSlim")]
internal sealed class SemaphoreSlim(int initialCount, int maxCount) : Waitable
{
    private readonly List<TaskCompletionSource<bool>> _waiting = [];
    private int _count = initialCount;
    private int _blocked;

    public SemaphoreSlim(int initialCount)
        : this(initialCount, int.MaxValue)
    {
    }

    public int CurrentCount
    {
        get
        {
            ControlledThread.Current?.StepOn(null);
            return (int)Effects.Observe((ulong)_count);
        }
    }

    public override bool Wait(TimeSpan timeout, CancellationToken cancellationToken)
    {
        Points.Me.StepOn(null);
        ThrowIfDisposed();
        if (_waiting.Count > 0 && timeout != TimeSpan.Zero)
        {
            cancellationToken.ThrowIfCancellationRequested();
            Task<bool> inLine = Enqueue(timeout, cancellationToken);
            Waits.For(inLine);
            return inLine.GetAwaiter().GetResult();
        }

        _blocked++;
        try
        {
            bool isTaken = Waits.For("a semaphore", () => _count > 0, timeout, cancellationToken);
            _count -= isTaken ? 1 : 0;
            return isTaken;
        }
        finally
        {
            _blocked--;
        }
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
        ThrowIfDisposed();
        if (cancellationToken.IsCancellationRequested)
        {
            return Task.FromCanceled<bool>(cancellationToken);
        }

        if (_count > 0)
        {
            _count--;
            return Task.FromResult(true);
        }

        return timeout == TimeSpan.Zero ? Task.FromResult(false) : Enqueue(timeout, cancellationToken);
    }

    public int Release() => Release(1);

    public int Release(int releaseCount)
    {
        Points.Me.StepOn(null);
        Effects.Write(_waiting.Count > 0 ? this : null);
        Effects.Observe((ulong)_count);
        Effects.Observe((ulong)_blocked);
        ThrowIfDisposed();
        ArgumentOutOfRangeException.ThrowIfLessThan(releaseCount, 1);
        int before = _count;
        if (maxCount - before < releaseCount)
        {
            throw new SemaphoreFullException();
        }

        _count += releaseCount;
        while (_count > _blocked && _waiting.Count > 0)
        {
            TaskCompletionSource<bool> first = _waiting[0];
            _waiting.RemoveAt(0);
            _count--;
            Effects.EndTask(first.Task);
            first.SetResult(true);
        }

        return before;
    }

    private Task<bool> Enqueue(TimeSpan timeout, CancellationToken token)
    {
        Effects.Write(this);
        TaskCompletionSource<bool> granted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _waiting.Add(granted);
        if (timeout < TimeSpan.Zero && !token.CanBeCanceled)
        {
            return granted.Task;
        }

        // As an async method does, and so with its exception.
        var builder = AsyncTaskMethodBuilder<bool>.Create();
        Task<bool> ended = builder.Task;
        bool isDecided = false;
        Effects.Write(Registrations.SourceOf(token));
        ITimer? timer = null;
        CancellationTokenRegistration registration = default;
        timer = timeout < TimeSpan.Zero ? null : Time.Provider.CreateTimer(_ => Decide(), null, timeout, Timeout.InfiniteTimeSpan);
        registration = token.UnsafeRegister(_ => Pool.QueueInside(Decide), null);
        Registrars.On(granted.Task, Decide, capture: false);
        return ended;

        void Decide()
        {
            Effects.Write(this);
            if (isDecided)
            {
                return;
            }

            isDecided = true;
            timer?.Dispose();
            registration.Unregister();
            if (granted.Task.IsCompleted)
            {
                Effects.EndTask(ended);
                builder.SetResult(true);
            }
            else if (Remove(granted))
            {
                Effects.ObserveToken(ref token);
                Effects.EndTask(ended);
                if (token.IsCancellationRequested)
                {
                    builder.SetException(new OperationCanceledException(token));
                }
                else
                {
                    builder.SetResult(false);
                }
            }
        }
    }

    /// <summary>After it was disposed of, the platform's knows a waiting task by the one before it alone, and leaves it waiting if it has none.</summary>
    private bool Remove(TaskCompletionSource<bool> waiter)
    {
        int at = _waiting.IndexOf(waiter);
        _waiting.Remove(waiter);
        return at > 0 || (at == 0 && !IsDisposed);
    }
}

[Replaces("System.Threading.ManualResetEventSlim")]
internal sealed class ManualResetEventSlim(bool initialState) : Waitable
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
        ThrowIfDisposed();
        _isSet = false;
    }

    public override bool Wait(TimeSpan timeout, CancellationToken cancellationToken)
    {
        Points.Me.StepOn(null);
        ThrowIfDisposed();
        return Waits.For("an event", () => _isSet, timeout, cancellationToken);
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

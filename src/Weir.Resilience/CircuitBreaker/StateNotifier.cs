namespace Weir.Resilience;

/// <summary>Reports changes of state to the user's callback: one after the other, in order, on the pool, with no lock held.</summary>
internal sealed class StateNotifier(Func<CircuitBreakerState, CircuitBreakerState, ValueTask> callback) : IThreadPoolWorkItem, IUnattended
{
    // A callback that hangs must not cause an unbounded buffer.
    private const int MaxWaiting = 64;

    private readonly Lock _lock = new();
    private readonly List<(CircuitBreakerState From, CircuitBreakerState To)> _waiting = [];
    private bool _running;

    public void Add(CircuitBreakerState from, CircuitBreakerState to)
    {
        lock (_lock)
        {
            if (_waiting.Count == MaxWaiting)
            {
                _waiting[^1] = (_waiting[^1].From, to);
            }
            else
            {
                _waiting.Add((from, to));
            }

            if (_running)
            {
                return;
            }

            _running = true;
        }

        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    void IThreadPoolWorkItem.Execute() => Unattended.Run(this, static notifier => notifier.Notify());

    /// <summary>It did not begin: here, because those that wait and all later ones count on it.</summary>
    void IUnattended.WorkFailed(Exception error) => Notify();

    // An async method: it throws nothing.
    private void Notify() => _ = NotifyAsync();

    private async Task NotifyAsync()
    {
        while (TryTake(out (CircuitBreakerState From, CircuitBreakerState To) change))
        {
            try
            {
                await callback(change.From, change.To).ConfigureAwait(false);
            }
            catch (Exception exception)
            {
                // It must not affect the breaker or later changes. A faulted task that nobody awaits raises the process's event for unobserved task
                // exceptions.
                _ = Task.FromException(exception);
            }
        }
    }

    private bool TryTake(out (CircuitBreakerState From, CircuitBreakerState To) change)
    {
        lock (_lock)
        {
            if (_waiting.Count == 0)
            {
                _running = false;
                change = default;
                return false;
            }

            change = _waiting[0];
            _waiting.RemoveAt(0);
            return true;
        }
    }
}

namespace Weir.Resilience;

/// <summary>Tells the user's callback of the changes of state: one after the other, in order, on the pool, with no lock held.</summary>
internal sealed class StateNotifier(Func<CircuitBreakerState, CircuitBreakerState, ValueTask> callback) : IThreadPoolWorkItem
{
    // A callback that hangs must not make a buffer without bound.
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

    void IThreadPoolWorkItem.Execute() => _ = NotifyAsync();

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
                // The breaker and the changes that follow must not suffer. A faulted task that nobody awaits reaches the process's
                // own event for exceptions nobody looked at.
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

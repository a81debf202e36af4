namespace Weir.Resilience;

/// <summary>The failures within the last interval, counted exactly. Not thread-safe: used under the breaker's lock.</summary>
internal sealed class FailureWindow(int threshold, long ticks)
{
    // Never longer than the threshold: reaching it opens the circuit, which clears the window.
    private readonly Queue<long> _failures = [];

    /// <summary>Counts one failure.</summary>
    /// <returns>Whether the window now contains as many as the threshold.</returns>
    public bool Add(long now)
    {
        while (_failures.TryPeek(out long oldest) && now - oldest >= ticks)
        {
            _failures.Dequeue();
        }

        _failures.Enqueue(now);
        return _failures.Count >= threshold;
    }

    public void Clear() => _failures.Clear();
}

namespace Weir.TestKit;

/// <summary>Counts who is inside: how many now, at most, and ever.</summary>
/// <remarks>
/// All three change together, under the lock. A test that has waited for one of them asserts the others, and a thread that is held up between two counts would
/// have entered without being inside.
/// </remarks>
public sealed class ConcurrencyProbe
{
    private readonly Lock _lock = new();
    private int _inside;
    private int _most;
    private int _entered;

    public int Inside => Read(in _inside);

    public int Most => Read(in _most);

    public int Entered => Read(in _entered);

    /// <summary>Enters until the result is disposed.</summary>
    public Stay Enter()
    {
        lock (_lock)
        {
            _entered++;
            _most = Math.Max(_most, ++_inside);
        }

        return new Stay(this);
    }

    /// <summary>A call for an item that is inside until the gate opens.</summary>
    public async ValueTask<T> StayAsync<T>(T item, Gate gate, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(gate);
        using (Enter())
        {
            await gate.WaitAsync(cancellationToken);
            return item;
        }
    }

    /// <summary>A call for an item that is inside until it is cancelled.</summary>
    public async ValueTask<T> StayAsync<T>(T item, CancellationToken cancellationToken)
    {
        using (Enter())
        {
            await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, cancellationToken);
            return item;
        }
    }

    /// <summary>A call for an item that blocks its thread until the gate opens.</summary>
    public ValueTask<T> Block<T>(T item, Gate gate)
    {
        ArgumentNullException.ThrowIfNull(gate);
        using (Enter())
        {
            gate.Wait();
            return new(item);
        }
    }

    /// <summary>Waits until so many have entered.</summary>
    public Task EnteredAsync(int count) => Guard.UntilAsync(() => Entered >= count, $"{count} entries (so far {Entered})");

    /// <summary>Waits until so many are inside at once.</summary>
    public Task InsideAsync(int count) => Guard.UntilAsync(() => Inside == count, $"{count} inside at once (most were {Most})");

    private int Read(in int count)
    {
        lock (_lock)
        {
            return count;
        }
    }

    private void Leave()
    {
        lock (_lock)
        {
            _inside--;
        }
    }

    /// <summary>One visit.</summary>
    public readonly struct Stay(ConcurrencyProbe probe) : IDisposable, IEquatable<Stay>
    {
        private readonly ConcurrencyProbe _probe = probe;

        public static bool operator ==(Stay left, Stay right) => left.Equals(right);

        public static bool operator !=(Stay left, Stay right) => !left.Equals(right);

        public void Dispose() => _probe.Leave();

        public bool Equals(Stay other) => ReferenceEquals(_probe, other._probe);

        public override bool Equals(object? obj) => obj is Stay other && Equals(other);

        public override int GetHashCode() => _probe.GetHashCode();
    }
}

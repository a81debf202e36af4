namespace Weir.TestKit;

/// <summary>Counts who is inside: how many now, at most, and ever.</summary>
public sealed class ConcurrencyProbe
{
    private int _inside;
    private int _most;
    private int _entered;

    public int Inside => Volatile.Read(ref _inside);

    public int Most => Volatile.Read(ref _most);

    public int Entered => Volatile.Read(ref _entered);

    /// <summary>Enters until the result is disposed.</summary>
    public Stay Enter()
    {
        Interlocked.Increment(ref _entered);
        int inside = Interlocked.Increment(ref _inside);
        int most = Volatile.Read(ref _most);
        while (inside > most)
        {
            int seen = Interlocked.CompareExchange(ref _most, inside, most);
            most = seen == most ? inside : seen;
        }

        return new Stay(this);
    }

    /// <summary>Waits until so many have entered.</summary>
    public Task EnteredAsync(int count) => Guard.UntilAsync(() => Entered >= count, $"{count} entries (so far {Entered})");

    /// <summary>Waits until so many are inside at once.</summary>
    public Task InsideAsync(int count) => Guard.UntilAsync(() => Inside == count, $"{count} inside at once (most were {Most})");

    private void Leave() => Interlocked.Decrement(ref _inside);

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

namespace Weir.Resilience;

/// <summary>The share of failures in a window that advances in tenths. Thread-safe without a lock: one atomic addition per call.</summary>
/// <remarks>
/// Each place of the ring has the slice of one tenth, which is replaced by a compare-and-swap when its tenth has passed. The first thread of a new tenth wins,
/// and the others count in its slice: with a plain write, the counts in a slice that was just replaced would be lost. The number of a slice never changes, so a
/// slice that is too old is left out of the sum even while its place has not been used again. The sum is no snapshot: calls that end meanwhile may be missing.
/// </remarks>
internal sealed class FailureRate(double ratio, int minimumThroughput, long windowTicks)
{
    private const int Slices = 10;

    private readonly long _sliceTicks = Math.Max(1, windowTicks / Slices);
    private readonly Slice?[] _slices = new Slice?[Slices];

    public void Success(long now) => Interlocked.Increment(ref SliceAt(now / _sliceTicks).Successes);

    /// <summary>Counts one failure.</summary>
    /// <returns>Whether the window now contains enough calls and too many failures.</returns>
    public bool Failure(long now)
    {
        long number = now / _sliceTicks;
        Interlocked.Increment(ref SliceAt(number).Failures);
        long successes = 0;
        long failures = 0;
        foreach (ref Slice? place in _slices.AsSpan())
        {
            if (Volatile.Read(ref place) is { } slice && slice.Number > number - Slices)
            {
                successes += Volatile.Read(ref slice.Successes);
                failures += Volatile.Read(ref slice.Failures);
            }
        }

        long all = successes + failures;
        return all >= minimumThroughput && failures >= ratio * all;
    }

    private Slice SliceAt(long number)
    {
        ref Slice? place = ref _slices[(int)((ulong)number % Slices)];
        Slice? slice = Volatile.Read(ref place);

        // A thread that was delayed after it read the clock counts in the newer slice, so no count is lost, and none revives an old slice.
        if (slice is not null && slice.Number >= number)
        {
            return slice;
        }

        var fresh = new Slice(number);
        Slice? seen = Interlocked.CompareExchange(ref place, fresh, slice);
        return ReferenceEquals(seen, slice) ? fresh : seen!;
    }

    private sealed class Slice(long number)
    {
        public long Successes;
        public long Failures;

        public long Number => number;
    }
}

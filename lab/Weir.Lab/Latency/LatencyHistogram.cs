namespace Weir.Lab.Latency;

/// <summary>
/// Counts latencies in buckets that grow with the value: three significant digits from 1 microsecond to 73 minutes, and whole
/// nanoseconds below that.
/// </summary>
/// <remarks>
/// Recording allocates nothing and takes no lock, so an instance belongs to one thread at a time; <see cref="RecordShared"/> is the slower way
/// for many. Percentiles of several workers come from <see cref="Merge">merged</see> histograms, never from averaged percentiles. All mutable data is 128 bytes
/// away from any other object, so that workers do not share cache lines. An instance takes 136 KiB.
/// </remarks>
public sealed class LatencyHistogram
{
    // Longs, so that the arrays of two workers never meet in a cache line or in the pair of lines that processors fetch.
    private const int Pad = 16;
    private const int MaxAt = Pad;
    private const int MinAt = Pad + 1;
    private const int SumAt = Pad + 2;
    private const int SaturatedAt = Pad + 3;
    private const int CountsAt = 2 * Pad;
    private const int Cells = CountsAt + HistogramLayout.Buckets + Pad;

    /// <summary>What an instance takes.</summary>
    internal const long Bytes = Cells * sizeof(long);

    private readonly long[] _cells = new long[Cells];

    /// <summary>Creates an empty histogram.</summary>
    public LatencyHistogram() => Clear();

    /// <summary>How many latencies were recorded. It reads all buckets.</summary>
    public long Count
    {
        get
        {
            long count = 0;
            foreach (long bucket in Counts)
            {
                count += bucket;
            }

            return count;
        }
    }

    /// <summary>The longest latency in nanoseconds, exactly; 0 when there is none.</summary>
    public long Max => Math.Max(0, _cells[MaxAt]);

    /// <summary>The shortest latency in nanoseconds, exactly; 0 when there is none.</summary>
    public long Min => _cells[MinAt] == long.MaxValue ? 0 : _cells[MinAt];

    /// <summary>The mean in nanoseconds; 0 when nothing was recorded.</summary>
    public double Mean => Count is > 0 and long count ? (double)_cells[SumAt] / count : 0;

    /// <summary>How many latencies were longer than 73 minutes and lie in the last bucket.</summary>
    public long Saturated => _cells[SaturatedAt];

    internal ReadOnlySpan<long> Counts => _cells.AsSpan(CountsAt, HistogramLayout.Buckets);

    internal long Sum => _cells[SumAt];

    /// <summary>Counts one latency. Only one thread at a time.</summary>
    /// <param name="nanoseconds">The latency. Less than zero counts as zero.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Record(long nanoseconds)
    {
        if ((ulong)nanoseconds > (ulong)HistogramLayout.Greatest)
        {
            nanoseconds = Clamp(nanoseconds);
        }

        ref long cells = ref MemoryMarshal.GetArrayDataReference(_cells);
        Unsafe.Add(ref cells, CountsAt + HistogramLayout.IndexOf(nanoseconds))++;
        Unsafe.Add(ref cells, SumAt) += nanoseconds;
        if (nanoseconds > Unsafe.Add(ref cells, MaxAt))
        {
            Unsafe.Add(ref cells, MaxAt) = nanoseconds;
        }

        if (nanoseconds < Unsafe.Add(ref cells, MinAt))
        {
            Unsafe.Add(ref cells, MinAt) = nanoseconds;
        }
    }

    /// <summary>
    /// Raises the maximum without counting a latency: where only one of many operations is timed, a stall of another has to be seen all the same.
    /// Any number of threads at a time.
    /// </summary>
    /// <param name="nanoseconds">How long it was.</param>
    public void NoteMax(long nanoseconds)
    {
        long seen;
        while (nanoseconds > (seen = Volatile.Read(ref _cells[MaxAt]))
            && Interlocked.CompareExchange(ref _cells[MaxAt], nanoseconds, seen) != seen)
        {
        }
    }

    /// <summary>Counts one latency. Any number of threads at a time, and slower than <see cref="Record"/>.</summary>
    /// <param name="nanoseconds">The latency. Less than zero counts as zero.</param>
    public void RecordShared(long nanoseconds)
    {
        if ((ulong)nanoseconds > (ulong)HistogramLayout.Greatest)
        {
            nanoseconds = Clamp(nanoseconds);
        }

        Interlocked.Increment(ref _cells[CountsAt + HistogramLayout.IndexOf(nanoseconds)]);
        Interlocked.Add(ref _cells[SumAt], nanoseconds);
        NoteMax(nanoseconds);
        long seen;
        while (nanoseconds < (seen = Volatile.Read(ref _cells[MinAt]))
            && Interlocked.CompareExchange(ref _cells[MinAt], nanoseconds, seen) != seen)
        {
        }
    }

    /// <summary>Adds all latencies of another histogram.</summary>
    /// <param name="other">The other histogram, which does not change. Nobody may be recording in it.</param>
    public void Merge(LatencyHistogram other)
    {
        ArgumentNullException.ThrowIfNull(other);
        for (int i = CountsAt; i < CountsAt + HistogramLayout.Buckets; i++)
        {
            _cells[i] += other._cells[i];
        }

        _cells[SumAt] += other._cells[SumAt];
        _cells[SaturatedAt] += other._cells[SaturatedAt];
        _cells[MaxAt] = Math.Max(_cells[MaxAt], other._cells[MaxAt]);
        _cells[MinAt] = Math.Min(_cells[MinAt], other._cells[MinAt]);
    }

    /// <summary>Forgets everything.</summary>
    public void Clear()
    {
        Array.Clear(_cells);
        _cells[MinAt] = long.MaxValue;
        _cells[MaxAt] = long.MinValue;
    }

    /// <summary>
    /// The latency that a share of all latencies does not exceed: of the sorted latencies the one of rank <c>ceil(percentile / 100 x count)</c>,
    /// at least the first.
    /// </summary>
    /// <param name="percentile">From 0 to 100.</param>
    /// <returns>Nanoseconds, right to three significant digits from 1 microsecond on; 0 when nothing was recorded.</returns>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="percentile"/> is not from 0 to 100.</exception>
    public long ValueAtPercentile(double percentile)
    {
        if (!(percentile is >= 0 and <= 100))
        {
            throw new ArgumentOutOfRangeException(nameof(percentile), percentile, "A percentile is from 0 to 100.");
        }

        long count = Count;
        if (count == 0)
        {
            return 0;
        }

        long rank = RankOf(percentile, count);
        return rank == count ? Max : ValueAtRank(rank);
    }

    /// <summary>The share of latencies that are at most so long, to the precision of the buckets.</summary>
    /// <param name="nanoseconds">The length.</param>
    /// <returns>From 0 to 1; 0 when nothing was recorded.</returns>
    public double ShareAtOrBelow(long nanoseconds)
    {
        long count = Count;
        if (count == 0 || nanoseconds < 0)
        {
            return 0;
        }

        int last = HistogramLayout.IndexOf(Math.Min(nanoseconds, HistogramLayout.Greatest));
        long below = 0;
        foreach (long bucket in Counts[..(last + 1)])
        {
            below += bucket;
        }

        return (double)below / count;
    }

    internal static long RankOf(double percentile, long count)
    {
        // A percentile such as 99.9 is not exact in binary; without this, rank 999 of 1,000 becomes 1,000.
        double exact = percentile / 100 * count;
        return Math.Clamp((long)Math.Ceiling(exact - (Math.BitIncrement(exact) - exact)), 1, count);
    }

    internal long ValueAtRank(long rank)
    {
        long seen = 0;
        ReadOnlySpan<long> counts = Counts;
        for (int i = 0; i < counts.Length; i++)
        {
            seen += counts[i];
            if (seen >= rank)
            {
                return Math.Clamp(HistogramLayout.MiddleOf(i), Min, Max);
            }
        }

        return Max;
    }

    internal void Restore(int bucket, long count) => _cells[CountsAt + bucket] += count;

    internal void Restore(long min, long max, long sum, long saturated)
    {
        _cells[MinAt] = min;
        _cells[MaxAt] = max;
        _cells[SumAt] = sum;
        _cells[SaturatedAt] = saturated;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private long Clamp(long nanoseconds)
    {
        if (nanoseconds < 0)
        {
            return 0;
        }

        Interlocked.Increment(ref _cells[SaturatedAt]);
        return HistogramLayout.Greatest;
    }
}

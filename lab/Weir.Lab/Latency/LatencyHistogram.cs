using System.Buffers.Text;
using System.Numerics;

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

/// <summary>Which value falls into which bucket. One nanosecond a bucket up to 1,024 ns, then 512 buckets an octave.</summary>
/// <remarks>A value is reported as the middle of its bucket, so it is off by at most half a bucket: 1/1,024 of it, which is three significant digits.</remarks>
internal static class HistogramLayout
{
    public const int Buckets = LinearBuckets + ((LastOctave - LinearBits) * SubBuckets);

    /// <summary>The greatest value that has a bucket of its own kind: 73 minutes.</summary>
    public const long Greatest = (1L << LastOctave) - 1;

    private const int LinearBits = 10;
    private const int LinearBuckets = 1 << LinearBits;
    private const int SubBits = 9;
    private const int SubBuckets = 1 << SubBits;
    private const int LastOctave = 42;

    /// <summary>The bucket of a value from 0 to <see cref="Greatest"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int IndexOf(long value)
    {
        if (value < LinearBuckets)
        {
            return (int)value;
        }

        // The leading bit tells the octave; the nine bits after it the bucket.
        int octave = BitOperations.Log2((ulong)value);
        return ((octave - LinearBits + 1) * SubBuckets) + (int)(value >> (octave - SubBits));
    }

    /// <summary>The least value of a bucket.</summary>
    public static long LeastOf(int index)
    {
        if (index < LinearBuckets)
        {
            return index;
        }

        int octave = ((index - LinearBuckets) >> SubBits) + LinearBits;
        long sub = ((index - LinearBuckets) & (SubBuckets - 1)) + SubBuckets;
        return sub << (octave - SubBits);
    }

    /// <summary>How many values a bucket has.</summary>
    public static long WidthOf(int index) =>
        index < LinearBuckets ? 1 : 1L << (((index - LinearBuckets) >> SubBits) + LinearBits - SubBits);

    /// <summary>The value that stands for a bucket.</summary>
    public static long MiddleOf(int index) => LeastOf(index) + (WidthOf(index) / 2);
}

/// <summary>A histogram as a short text, for files and for going from one process to another: usually less than 3 KB.</summary>
internal static class HistogramCodec
{
    private const byte Version = 1;

    /// <summary>Writes a histogram as text.</summary>
    /// <param name="histogram">The histogram. Nobody may be recording in it.</param>
    /// <returns>Base64 of a list of the buckets in use.</returns>
    public static string Encode(LatencyHistogram histogram)
    {
        using MemoryStream bytes = new();
        using BinaryWriter writer = new(bytes);
        writer.Write(Version);
        writer.Write7BitEncodedInt64(histogram.Min);
        writer.Write7BitEncodedInt64(histogram.Max);
        writer.Write7BitEncodedInt64(histogram.Sum);
        writer.Write7BitEncodedInt64(histogram.Saturated);
        int last = -1;
        ReadOnlySpan<long> counts = histogram.Counts;
        for (int i = 0; i < counts.Length; i++)
        {
            if (counts[i] != 0)
            {
                writer.Write7BitEncodedInt(i - last);
                writer.Write7BitEncodedInt64(counts[i]);
                last = i;
            }
        }

        writer.Write7BitEncodedInt(0);
        writer.Flush();
        return Convert.ToBase64String(bytes.GetBuffer(), 0, (int)bytes.Length);
    }

    /// <summary>Reads a histogram that <see cref="Encode"/> wrote.</summary>
    /// <exception cref="FormatException">The text is not a histogram.</exception>
    public static LatencyHistogram Decode(string text)
    {
        if (!Base64.IsValid(text))
        {
            throw new FormatException("The text is not a histogram, because it is not Base64.");
        }

        using BinaryReader reader = new(new MemoryStream(Convert.FromBase64String(text)));
        try
        {
            return Read(reader);
        }
        catch (EndOfStreamException error)
        {
            throw new FormatException("The text ends in the middle of a histogram.", error);
        }
    }

    private static LatencyHistogram Read(BinaryReader reader)
    {
        if (reader.ReadByte() is var version && version != Version)
        {
            throw new FormatException($"This reads histograms of version {Version}, not {version}.");
        }

        LatencyHistogram histogram = new();
        long min = reader.Read7BitEncodedInt64();
        long max = reader.Read7BitEncodedInt64();
        long sum = reader.Read7BitEncodedInt64();
        long saturated = reader.Read7BitEncodedInt64();
        bool any = false;
        int bucket = -1;
        int gap;
        while ((gap = reader.Read7BitEncodedInt()) != 0)
        {
            bucket += gap;
            if (gap < 0 || bucket >= HistogramLayout.Buckets)
            {
                throw new FormatException("The text has a bucket that a histogram does not have.");
            }

            histogram.Restore(bucket, reader.Read7BitEncodedInt64());
            any = true;
        }

        if (any)
        {
            histogram.Restore(min, max, sum, saturated);
        }

        return histogram;
    }
}

/// <summary>Writes histograms as the text of <see cref="HistogramCodec"/>.</summary>
internal sealed class HistogramJsonConverter : JsonConverter<LatencyHistogram>
{
    /// <inheritdoc/>
    public override LatencyHistogram Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options)
    {
        try
        {
            return HistogramCodec.Decode(reader.GetString() ?? "");
        }
        catch (FormatException error)
        {
            throw new JsonException(error.Message, error);
        }
    }

    /// <inheritdoc/>
    public override void Write(Utf8JsonWriter writer, LatencyHistogram value, JsonSerializerOptions options)
    {
        writer.WriteStringValue(HistogramCodec.Encode(value));
    }
}

/// <summary>The usual figures of a histogram, and the histogram. All times are nanoseconds.</summary>
public sealed class LatencySummary
{
    /// <summary>Creates the figures.</summary>
    /// <param name="histogram">The histogram. It must not change any more.</param>
    [JsonConstructor]
    public LatencySummary(LatencyHistogram histogram)
    {
        ArgumentNullException.ThrowIfNull(histogram);
        Histogram = histogram;
        Count = histogram.Count;
        Mean = histogram.Mean;
        Min = histogram.Min;
        P50 = histogram.ValueAtPercentile(50);
        P90 = histogram.ValueAtPercentile(90);
        P99 = histogram.ValueAtPercentile(99);
        P999 = histogram.ValueAtPercentile(99.9);
        Max = histogram.Max;
    }

    /// <summary>How many latencies.</summary>
    public long Count { get; }

    /// <summary>The mean.</summary>
    public double Mean { get; }

    /// <summary>The shortest.</summary>
    public long Min { get; }

    /// <summary>The median.</summary>
    public long P50 { get; }

    /// <summary>What 90 % do not exceed.</summary>
    public long P90 { get; }

    /// <summary>What 99 % do not exceed.</summary>
    public long P99 { get; }

    /// <summary>What 99.9 % do not exceed.</summary>
    public long P999 { get; }

    /// <summary>The longest.</summary>
    public long Max { get; }

    /// <summary>All latencies.</summary>
    public LatencyHistogram Histogram { get; }

    /// <summary>The figures of several histograms together.</summary>
    /// <param name="parts">The figures of the parts; those that are missing count nothing.</param>
    /// <returns>The figures of the sum; <see langword="null"/> when there is no part.</returns>
    public static LatencySummary? Merge(IEnumerable<LatencySummary?> parts)
    {
        ArgumentNullException.ThrowIfNull(parts);
        LatencyHistogram? sum = null;
        foreach (LatencySummary? part in parts)
        {
            if (part is not null)
            {
                (sum ??= new LatencyHistogram()).Merge(part.Histogram);
            }
        }

        return sum is null ? null : new LatencySummary(sum);
    }
}

/// <summary>A percentile that the data is sufficient for.</summary>
/// <param name="Percentile">Which, from 0 to 100.</param>
/// <param name="Nanoseconds">The latency; where <paramref name="IsBound"/> says so, an upper bound of it.</param>
/// <param name="Beyond">How many latencies lie beyond it, at least one.</param>
/// <param name="IsBound">Whether the clock cannot resolve it: it is at most so long.</param>
internal readonly record struct KnownPercentile(double Percentile, double Nanoseconds, long Beyond, bool IsBound)
{
    private const double Readings = 2;

    /// <summary>The percentiles that are shown and written.</summary>
    public static IReadOnlyList<double> Usual { get; } = [50, 90, 99, 99.9, 99.99];

    /// <summary>A percentile of some latencies.</summary>
    /// <param name="latency">The latencies. Nobody may be recording in it.</param>
    /// <param name="percentile">Which, from 0 to 100.</param>
    /// <param name="clockCost">
    /// What a reading of the clock costs, in nanoseconds: each latency has one in it, and below two of them the clock tells nothing.
    /// </param>
    /// <returns>The percentile; <see langword="null"/> where not one latency lies beyond it, because then it would be the greatest one.</returns>
    public static KnownPercentile? Of(LatencyHistogram latency, double percentile, double clockCost)
    {
        long count = latency.Count;
        long beyond = count == 0 ? 0 : count - LatencyHistogram.RankOf(percentile, count);
        if (beyond < 1)
        {
            return null;
        }

        double value = latency.ValueAtPercentile(percentile);
        bool isBound = value < Readings * clockCost;
        return new KnownPercentile(percentile, isBound ? Readings * clockCost : value, beyond, isBound);
    }
}

/// <summary>Latencies come in steps: whole nanoseconds, and the buckets of the histogram above a microsecond.</summary>
internal static class LatencySteps
{
    /// <summary>By how much the logarithm of the ratio of two latencies may be off, because each may lie anywhere in its step.</summary>
    /// <param name="first">A latency without the reading of the clock, in nanoseconds.</param>
    /// <param name="second">Another one.</param>
    /// <param name="clock">The reading of the clock that was taken off both.</param>
    public static double OfRatio(double first, double second, double clock) => Share(first, clock) + Share(second, clock);

    private static double Share(double latency, double clock) => HistogramLayout.WidthOf(HistogramLayout.IndexOf((long)(latency + clock))) / 2.0 / latency;
}

/// <summary>The system's finest clock, in nanoseconds.</summary>
internal static class Clock
{
    private static readonly double PerTick = 1e9 / Stopwatch.Frequency;
    private static readonly bool IsNanoseconds = Stopwatch.Frequency == 1_000_000_000;

    /// <summary>Nanoseconds that lie between two timestamps of <see cref="Stopwatch.GetTimestamp"/>.</summary>
    /// <returns>The nanoseconds; negative when the order is the other way round.</returns>
    public static long Nanoseconds(long from, long to) => IsNanoseconds ? to - from : (long)((to - from) * PerTick);

    /// <summary>A length of time in units of <see cref="Stopwatch.GetTimestamp"/>.</summary>
    public static long Ticks(TimeSpan time) => (long)(time.TotalSeconds * Stopwatch.Frequency);

    /// <summary>Measures what one reading of the clock costs here.</summary>
    /// <returns>Nanoseconds a reading: the least of several tries, because whatever disturbs a try makes it longer.</returns>
    public static double MeasureReadCost()
    {
        const int readings = 2_000;
        double best = double.MaxValue;
        for (int i = 0; i < 60; i++)
        {
            best = Math.Min(best, (double)TimeReadings(readings) / readings);
        }

        return best;
    }

    private static long TimeReadings(int readings)
    {
        long begin = Stopwatch.GetTimestamp();
        long last = begin;
        for (int i = 0; i < readings; i++)
        {
            last = Stopwatch.GetTimestamp();
        }

        return Nanoseconds(begin, last);
    }
}

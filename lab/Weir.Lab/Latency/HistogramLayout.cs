using System.Numerics;

namespace Weir.Lab.Latency;

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

using System.Buffers.Text;

namespace Weir.Lab.Latency;

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

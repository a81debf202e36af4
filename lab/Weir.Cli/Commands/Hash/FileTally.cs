using System.Buffers.Binary;

namespace Weir.Cli.Commands.Hash;

/// <summary>What one worker did. Only that worker writes to it; others may read the count at any time.</summary>
internal sealed class FileTally
{
    private long _files;
    private long _last;

    /// <summary>How long each file took.</summary>
    public LatencyHistogram Latency { get; } = new();

    /// <summary>The files so far.</summary>
    public long Files => Volatile.Read(ref _files);

    /// <summary>The sum of all hashes, which does not depend on their order.</summary>
    public ulong Checksum { get; private set; }

    /// <summary>The longest time without the end of a file, in nanoseconds.</summary>
    public long LongestGap { get; private set; }

    /// <summary>The round begins.</summary>
    public void Begin(long start) => _last = start;

    /// <summary>Counts a file.</summary>
    public void Done(long begun, byte[] hash)
    {
        long now = Stopwatch.GetTimestamp();
        Latency.Record(Clock.Nanoseconds(begun, now));
        LongestGap = Math.Max(LongestGap, Clock.Nanoseconds(_last, now));
        _last = now;
        Checksum = unchecked(Checksum + BinaryPrimitives.ReadUInt64LittleEndian(hash) + (31 * BinaryPrimitives.ReadUInt64LittleEndian(hash.AsSpan(8))));
        Volatile.Write(ref _files, _files + 1);
    }
}

using System.Diagnostics;

namespace Weir.Lab.Tests.Support;

/// <summary>A clock in the stopwatch's own units that stands where a test puts it.</summary>
internal sealed class TickingClock : TimeProvider
{
    public long Now { get; set; } = 1;

    public override long TimestampFrequency => Stopwatch.Frequency;

    public override long GetTimestamp() => Now;
}

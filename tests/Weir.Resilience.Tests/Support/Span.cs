namespace Weir.Resilience.Tests;

internal static class Span
{
    public static TimeSpan Ms(double milliseconds) => TimeSpan.FromTicks((long)(milliseconds * TimeSpan.TicksPerMillisecond));
}

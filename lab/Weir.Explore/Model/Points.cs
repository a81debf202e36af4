using Weir.Explore.Scheduling;

namespace Weir.Explore.Model;

/// <summary>What rewritten code calls before each operation that other threads can see.</summary>
internal static class Points
{
    /// <summary>The controlled thread that calls. On another thread, an operation that could wait is refused.</summary>
    public static ControlledThread Me => ControlledThread.Current ?? throw new NotSupportedException(
        "Code under test runs on a thread that the explorer does not control, and calls what could wait. What has called it is not known to the explorer.");

    /// <summary>A point: another thread may go on here. The operation itself is that of the platform, in one piece.</summary>
    public static void Step(string site) => ControlledThread.Current?.Step(site);

    /// <summary>Where the next call of a replaced method is.</summary>
    public static void Site(string site)
    {
        if (ControlledThread.Current is { } me)
        {
            me.Site = site;
        }
    }

    public static void Unknown(string call, string site)
    {
        if (ControlledThread.Current is not null)
        {
            throw new NotSupportedException($"{call} could wait, and the explorer does not know it. It is called at {site}.");
        }
    }
}

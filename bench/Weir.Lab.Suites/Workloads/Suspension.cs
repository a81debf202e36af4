namespace Weir.Lab.Suites.Workloads;

/// <summary>How an item suspends.</summary>
public enum Suspension
{
    /// <summary>Not at all: it is done at once.</summary>
    None,

    /// <summary>Once, and it continues at once.</summary>
    Yield,

    /// <summary>For 1 ms, which means until a tick of the timer.</summary>
    Delay,
}

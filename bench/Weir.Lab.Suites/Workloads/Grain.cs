namespace Weir.Lab.Suites.Workloads;

/// <summary>How much work a CPU-bound item is.</summary>
public enum Grain
{
    /// <summary>One microsecond each.</summary>
    OneMicrosecond,

    /// <summary>Ten microseconds each.</summary>
    TenMicroseconds,

    /// <summary>Ten microseconds each, but a hundred times that for one item in a hundred, spread by a fixed seed.</summary>
    HeavyTail,
}

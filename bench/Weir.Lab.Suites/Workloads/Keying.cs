namespace Weir.Lab.Suites.Workloads;

/// <summary>How items spread over keys.</summary>
public enum Keying
{
    /// <summary>A hundred keys, each as often as any other.</summary>
    Uniform,

    /// <summary>One key for nine items in ten, the others alone.</summary>
    Hot,
}

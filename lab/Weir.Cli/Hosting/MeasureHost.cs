namespace Weir.Cli.Hosting;

/// <summary>What the measuring commands take from outside beside their options; tests make them quick.</summary>
internal sealed record MeasureHost
{
    /// <summary>Whether a round may get a process of its own. Without, all rounds run in this one.</summary>
    public bool UseProcesses { get; init; } = true;

    /// <summary>How long the warm-up before rounds is at most; <see langword="null"/> for the commands' own choice.</summary>
    public TimeSpan? LongestWarmUp { get; init; }

    /// <summary>How often a process may repeat rounds that the canary calls disturbed; <see langword="null"/> for the commands' own choice.</summary>
    public int? MostRepeats { get; init; }

    /// <summary>The wall clock, for the time at which a run started.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;
}

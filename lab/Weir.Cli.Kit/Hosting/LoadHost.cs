namespace Weir.Cli.Kit.Hosting;

/// <summary>What the commands called <c>load</c> depend on besides their options. Tests use it to shorten runs.</summary>
internal sealed record LoadHost
{
    /// <summary>Windows, warm-up and clock. The number of trials comes from the options.</summary>
    public TrialOptions Trials { get; init; } = new();

    /// <summary>The time after which a long window is reported.</summary>
    public TimeSpan Heartbeat { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The wall clock, for the time at which a run started.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;
}

using Weir.Cli.Runtimes;
using Weir.Lab.Trials;
using Weir.Runtimes;

namespace Weir.Cli.Hosting;

/// <summary>What the <c>load</c> command takes from outside beside its options; tests make it quick, or break a part of it.</summary>
internal sealed record LoadHost
{
    /// <summary>Windows, warm-up and clock. The number of trials comes from the options.</summary>
    public TrialOptions Trials { get; init; } = new();

    /// <summary>Makes the runtimes.</summary>
    public Func<RuntimeChoice, IExecutionRuntime> CreateRuntime { get; init; } = static choice => choice.Create();

    /// <summary>After how long a window that goes on and on is spoken of.</summary>
    public TimeSpan Heartbeat { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The wall clock, for the time at which a run started.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;
}

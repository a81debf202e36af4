using Weir.Cli.Runtimes;
using Weir.Delivery;
using Weir.Lab.Trials;
using Weir.Runtimes;

namespace Weir.Cli.Hosting;

/// <summary>The dependencies of the <c>load</c> command besides its options. Tests use it to shorten runs or to inject faults.</summary>
internal sealed record LoadHost
{
    /// <summary>Windows, warm-up and clock. The number of trials comes from the options.</summary>
    public TrialOptions Trials { get; init; } = new();

    /// <summary>Makes the runtimes.</summary>
    public Func<RuntimeChoice, IExecutionRuntime> CreateRuntime { get; init; } = static choice => choice.Create();

    /// <summary>What stands between a queue and the consumers that it is measured with.</summary>
    public Func<IWorkSource<string>, IWorkSource<string>> WrapSource { get; init; } = static source => source;

    /// <summary>The time after which a long window is reported.</summary>
    public TimeSpan Heartbeat { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The wall clock, for the time at which a run started.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;
}

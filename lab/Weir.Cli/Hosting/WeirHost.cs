using System.Diagnostics.CodeAnalysis;

namespace Weir.Cli.Hosting;

/// <summary>The environment of the commands that measure.</summary>
internal sealed record WeirHost : CliHost
{
    [SetsRequiredMembers]
    public WeirHost(CliHost shared)
        : base(shared)
    {
    }

    /// <summary>What the measuring commands depend on besides their options.</summary>
    public MeasureHost Measure { get; init; } = new();

    /// <summary>Makes the runtimes of <c>load</c>. Tests inject faults here.</summary>
    public Func<RuntimeChoice, IExecutionRuntime> CreateRuntime { get; init; } = static choice => choice.Create();
}

/// <summary>The dependencies of the measuring commands besides their options. Tests use it to shorten runs.</summary>
internal sealed record MeasureHost
{
    /// <summary>Whether a round may have its own process. Otherwise, all rounds run in this process.</summary>
    public bool UseProcesses { get; init; } = true;

    /// <summary>The maximum length of the warm-up before rounds; <see langword="null"/> for the default of the command.</summary>
    public TimeSpan? LongestWarmUp { get; init; }

    /// <summary>How often a process may repeat rounds that the canary reports as disturbed; <see langword="null"/> for the default of the command.</summary>
    public int? MostRepeats { get; init; }

    /// <summary>The wall clock, for the time at which a run started.</summary>
    public TimeProvider Clock { get; init; } = TimeProvider.System;
}

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

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

    /// <summary>What <c>top</c> depends on besides its options.</summary>
    public TopHost Top { get; init; } = new();

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

/// <summary>The terminal and the machine of <c>top</c>. Tests put others in their place.</summary>
internal sealed record TopHost
{
    /// <summary>The key that was pressed and not read, if any. Null where nobody can press one.</summary>
    public Func<ConsoleKeyInfo?>? ReadKey { get; init; } =
        Console.IsInputRedirected ? null : static () => Console.KeyAvailable ? Console.ReadKey(intercept: true) : null;

    /// <summary>The width and the height of the terminal now.</summary>
    public Func<(int Width, int Height)> Size { get; init; } = static () => (Console.WindowWidth, Console.WindowHeight);

    /// <summary>The processes that have Weir loaded.</summary>
    public Func<IReadOnlyList<(int Id, string Name)>>? Processes { get; init; }
}

using Weir.Cli.Load;
using Weir.Cli.Processes;

namespace Weir.Cli.Hosting;

/// <summary>Everything that a command touches outside itself, so that a test can run one in its own process.</summary>
internal sealed record CliHost
{
    /// <summary>What a measuring process is told. Commands for people read nothing.</summary>
    public TextReader In { get; init; } = TextReader.Null;

    /// <summary>Where results go.</summary>
    public required TextWriter Out { get; init; }

    /// <summary>Where messages and progress go.</summary>
    public required TextWriter Error { get; init; }

    /// <summary>Whether results are read by a person at a terminal.</summary>
    public bool OutIsTerminal { get; init; }

    /// <summary>Whether progress is read by a person at a terminal.</summary>
    public bool ErrorIsTerminal { get; init; }

    /// <summary>The value of an environment variable, or <see langword="null"/>.</summary>
    public Func<string, string?> Variable { get; init; } = static _ => null;

    /// <summary>Asks the command to stop.</summary>
    public CancellationToken Stop { get; init; }

    /// <summary>What <c>load</c> takes from outside beside its options.</summary>
    public LoadSettings Load { get; init; } = new();

    /// <summary>What the measuring commands take from outside beside their options.</summary>
    public MeasureSettings Measure { get; init; } = new();

    public static CliHost OfProcess(CancellationToken stop) => new()
    {
        In = Console.In,
        Out = Console.Out,
        Error = Console.Error,
        OutIsTerminal = !Console.IsOutputRedirected,
        ErrorIsTerminal = !Console.IsErrorRedirected,
        Variable = Environment.GetEnvironmentVariable,
        Stop = stop,
    };
}

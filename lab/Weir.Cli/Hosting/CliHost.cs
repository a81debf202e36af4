using System.Text;
using Microsoft.Win32.SafeHandles;
using Weir.Cli.Formatting;
using Weir.Lab.Report.Tables;

namespace Weir.Cli.Hosting;

/// <summary>The environment of a command, so that a test can run a command in its own process.</summary>
internal sealed record CliHost
{
    /// <summary>Where results go.</summary>
    public required TextWriter Out { get; init; }

    /// <summary>Where messages and progress go.</summary>
    public required TextWriter Error { get; init; }

    /// <summary>Whether results are read by a person at a terminal.</summary>
    public bool OutIsTerminal { get; init; }

    /// <summary>The maximum length of a line of the results; <see langword="null"/> if they do not go to a terminal.</summary>
    public int? Width { get; init; }

    /// <summary>How results are written as text.</summary>
    public TextStyle Style => new(Width, OutIsTerminal && Consoles.HasColors(Out));

    /// <summary>Whether progress is read by a person at a terminal.</summary>
    public bool ErrorIsTerminal { get; init; }

    /// <summary>The value of an environment variable, or <see langword="null"/>.</summary>
    public Func<string, string?> Variable { get; init; } = static _ => null;

    /// <summary>Asks the command to stop.</summary>
    public CancellationToken Stop { get; init; }

    /// <summary>The dependencies of <c>load</c> besides its options.</summary>
    public LoadHost Load { get; init; } = new();

    /// <summary>The dependencies of the measuring commands besides their options.</summary>
    public MeasureHost Measure { get; init; } = new();

    /// <summary>The dependencies of the commands over queues besides their options.</summary>
    public WorkCommandHost Work { get; init; } = new();

    public static CliHost OfProcess(CancellationToken stop) => new()
    {
        Out = Console.Out,
        Error = Console.Error,
        OutIsTerminal = !Console.IsOutputRedirected,
        Width = Console.IsOutputRedirected ? null : WidthOfTerminal(),
        ErrorIsTerminal = !Console.IsErrorRedirected,
        Variable = Environment.GetEnvironmentVariable,
        Stop = stop,
        Work = new WorkCommandHost { In = Console.In, Lines = OperatingSystem.IsWindows() ? null : LinesOfProcess },
    };

    private static StreamWriter LinesOfProcess() =>
        new(new FileStream(new SafeFileHandle(1, ownsHandle: false), FileAccess.Write, bufferSize: 0), new UTF8Encoding(false), 1 << 16);

    // If the terminal does not report its width, the usual width is assumed.
    private static int WidthOfTerminal()
    {
        const int usual = 80;
        try
        {
            return Console.WindowWidth is > 0 and int width ? width : usual;
        }
        catch (IOException)
        {
            return usual;
        }
    }
}

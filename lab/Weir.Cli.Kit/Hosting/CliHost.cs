using Weir.Cli.Kit.Formatting;
using Weir.Lab.Report.Tables;

namespace Weir.Cli.Kit.Hosting;

/// <summary>The environment of a command, so that a test can run a command in its own process.</summary>
internal record CliHost
{
    /// <summary>The name of the program, which is before its messages.</summary>
    public required string Name { get; init; }

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

    /// <summary>What the commands called <c>load</c> depend on besides their options.</summary>
    public LoadHost Load { get; init; } = new();

    /// <summary>Writes a message of the program.</summary>
    public void Say(string line) => Error.WriteLine($"{Name}: {line}");

    /// <summary>The environment of this process.</summary>
    public static CliHost OfProcess(string name, CancellationToken stop) => new()
    {
        Name = name,
        Out = OutputOfProcess(),
        Error = Console.Error,
        OutIsTerminal = !Console.IsOutputRedirected,
        Width = Console.IsOutputRedirected ? null : WidthOfTerminal(),
        ErrorIsTerminal = !Console.IsErrorRedirected,
        Variable = Environment.GetEnvironmentVariable,
        Stop = stop,
    };

    // Libraries that print get it as the console.
    private static TextWriter OutputOfProcess()
    {
        if (Console.IsOutputRedirected && !OperatingSystem.IsWindows())
        {
            Console.SetOut(new DescriptorWriter(Descriptor.Output, Console.OutputEncoding));
        }

        return Console.Out;
    }

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

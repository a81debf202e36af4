using Weir.Cli.App;
using Weir.Cli.Hosting;
using Weir.Cli.Runtimes;
using Weir.Delivery;
using Weir.Lab.Trials;
using Weir.Runtimes;

namespace Weir.Cli.Tests.Support;

/// <summary>Runs a command in this process: own outputs, own environment, and windows of a single pass.</summary>
internal sealed class CliUnderTest
{
    public Dictionary<string, string> Variables { get; } = [];

    public Func<RuntimeChoice, IExecutionRuntime>? CreateRuntime { get; set; }

    /// <summary>What stands between a queue and the consumers that it is measured with; <see langword="null"/> for nothing.</summary>
    public Func<IWorkSource<string>, IWorkSource<string>>? WrapSource { get; set; }

    public CancellationToken Stop { get; set; }

    /// <summary>A text in whose progress line someone presses Ctrl-C; <see langword="null"/> for nobody.</summary>
    public string? StopsAt { get; set; }

    /// <summary>After how many lines of the output someone presses Ctrl-C; <see langword="null"/> for nobody.</summary>
    public int? StopsAfterLines { get; set; }

    public bool IsTerminal { get; set; }

    /// <summary>Whether measuring commands may start processes; without, they measure in this one.</summary>
    public bool UseProcesses { get; set; }

    /// <summary>What comes from the input.</summary>
    public string Input { get; set; } = "";

    public TimeSpan Window { get; set; } = TimeSpan.Zero;

    public static Task<LoadResult> LoadAsync(string options) => new CliUnderTest().RunAsync("load " + options);

    public Task<LoadResult> RunAsync(string arguments) => RunAsync(arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries));

    /// <summary>Runs a command whose arguments have spaces in them.</summary>
    public async Task<LoadResult> RunAsync(IReadOnlyList<string> arguments)
    {
        using CancellationTokenSource interrupt = CancellationTokenSource.CreateLinkedTokenSource(Stop);
        using CountingWriter output = new(StopsAfterLines, interrupt);
        using StoppingWriter error = new(StopsAt, interrupt);
        LoadHost settings = new()
        {
            Trials = new TrialOptions { MinimumWindow = Window, LongestWarmUp = TimeSpan.Zero, CompilerPatience = TimeSpan.Zero },
        };
        settings = WrapSource is null ? settings : settings with { WrapSource = WrapSource };
        CliHost host = new()
        {
            Out = output,
            Error = TextWriter.Synchronized(error),
            OutIsTerminal = false,
            ErrorIsTerminal = IsTerminal,
            Variable = name => Variables.GetValueOrDefault(name),
            Stop = interrupt.Token,
            Measure = new MeasureHost { UseProcesses = UseProcesses, LongestWarmUp = TimeSpan.Zero, MostRepeats = 0 },
            Work = new WorkCommandHost { In = new StringReader(Input) },
            Load = CreateRuntime is null ? settings : settings with { CreateRuntime = CreateRuntime },
        };
        int exitCode = await WeirApp.RunAsync(arguments, host);
        return new LoadResult(exitCode, output.ToString(), error.ToString());
    }
}

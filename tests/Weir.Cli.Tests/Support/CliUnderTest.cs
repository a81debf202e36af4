using Weir.Audit;
using Weir.Audit.Load;
using Weir.Bench;
using Weir.Cli.App;
using Weir.Cli.Hosting;
using Weir.Cli.Kit.Hosting;
using Weir.Cli.Runtimes;
using Weir.Delivery;
using Weir.Delivery.Cli.App;
using Weir.Delivery.Cli.Hosting;
using Weir.Lab.Trials;
using Weir.Runtimes;
using Weir.Tables.App;

namespace Weir.Cli.Tests.Support;

/// <summary>Runs a command in this process: own outputs, own environment, and windows of a single pass.</summary>
internal sealed class CliUnderTest
{
    public Dictionary<string, string> Variables { get; } = [];

    public Func<RuntimeChoice, IExecutionRuntime> CreateRuntime { get; set; } = static choice => choice.Create();

    /// <summary>What stands between a queue and the consumers that it is measured with.</summary>
    public Func<IWorkSource<string>, IWorkSource<string>> WrapSource { get; set; } = static source => source;

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

    /// <summary>The clock by which a load is measured.</summary>
    public TimeProvider Clock { get; set; } = TimeProvider.System;

    public static Task<LoadResult> LoadAsync(string options) => new CliUnderTest().RunAsync("load " + options);

    /// <summary>Runs a command. The first word names the program, if it is not <c>weir</c>.</summary>
    public Task<LoadResult> RunAsync(string arguments) => RunAsync(arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries));

    /// <summary>Runs a command whose arguments have spaces in them.</summary>
    public async Task<LoadResult> RunAsync(IReadOnlyList<string> arguments)
    {
        using CancellationTokenSource interrupt = CancellationTokenSource.CreateLinkedTokenSource(Stop);
        using CountingWriter output = new(StopsAfterLines, interrupt);
        using StoppingWriter error = new(StopsAt, interrupt);
        CliHost shared = new()
        {
            Name = arguments is [WorkApp.Name or AuditApp.Name or TablesApp.Name or BenchApp.Name, ..] ? arguments[0] : WeirApp.Name,
            Out = output,
            Error = TextWriter.Synchronized(error),
            OutIsTerminal = false,
            ErrorIsTerminal = IsTerminal,
            Variable = name => Variables.GetValueOrDefault(name),
            Stop = interrupt.Token,
            Load = new LoadHost
            {
                Trials = new TrialOptions
                {
                    MinimumWindow = Window, LongestWarmUp = TimeSpan.Zero, CompilerPatience = TimeSpan.Zero, TimeProvider = Clock,
                },
            },
        };
        int exitCode = await (arguments switch
        {
            [WorkApp.Name, ..] => WorkApp.RunAsync([.. arguments.Skip(1)], new WorkCliHost(shared) { In = new StringReader(Input) }),
            [AuditApp.Name, ..] => AuditApp.RunAsync([.. arguments.Skip(1)], new AuditHost(shared) { WrapSource = WrapSource }),
            [TablesApp.Name, ..] => TablesApp.RunAsync([.. arguments.Skip(1)], shared),
            [BenchApp.Name, ..] => BenchApp.RunAsync([.. arguments.Skip(1)], shared),
            _ => WeirApp.RunAsync(arguments, new WeirHost(shared)
            {
                Measure = new MeasureHost { UseProcesses = UseProcesses, LongestWarmUp = TimeSpan.Zero, MostRepeats = 0 },
                CreateRuntime = CreateRuntime,
            }),
        });
        return new LoadResult(exitCode, output.ToString(), error.ToString());
    }
}

using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Exporters.Json;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using Weir.Lab.Benchmarks;
using Weir.Lab.Suites;

namespace Weir.Cli.Commands.Bench;

/// <summary>The <c>bench</c> command: the benchmark suites, with BenchmarkDotNet's own arguments.</summary>
internal static class BenchCommand
{
    public const string Name = "bench";

    /// <summary>For the list of commands only: BenchmarkDotNet parses the arguments.</summary>
    public static Command Create()
    {
        Argument<string[]> arguments = new("ARGUMENTS")
        {
            Description = "BenchmarkDotNet's arguments: --list tree, --filter, --job, --exporters ...; also --workers N,N,..., and from this program "
                + "--export md,csv,json,html, --out, --fail-if, --json and --quiet",
            Arity = ArgumentArity.ZeroOrMore,
        };
        return new Command(Name, "Runs the benchmark suites in BenchmarkDotNet. With its own arguments; 'weir bench --help' lists them.") { arguments };
    }

    /// <summary>Runs the suites.</summary>
    /// <exception cref="BadInputException">An argument of this program cannot be used.</exception>
    public static int Run(IReadOnlyList<string> arguments, WeirHost host)
    {
        BenchArguments own = BenchArguments.Parse(arguments);
        if (own.Directory is { } directory && !own.Remaining.Any(LabBenchmarks.IsQuestion))
        {
            ResultOutput.CheckCanWrite(Path.Combine(directory, $".weir-bench-{Environment.ProcessId}"));
        }

        bool isSilent = own.IsSilent && !own.Remaining.Any(LabBenchmarks.IsQuestion);
        bool isRun = false;
        int failed = ExitCode.Success;
        int code = BenchmarkHost.Run(
            [.. own.Remaining],
            isSilent ? Silent() : null,
            summaries =>
            {
                isRun = summaries.Count > 0;
                Write(summaries, own, host);
                foreach (string line in MissingResults.Of(summaries, host.Stop.IsCancellationRequested))
                {
                    host.Say($"{line}");
                }

                failed = own.Thresholds.Count == 0 || host.Stop.IsCancellationRequested ? failed : CodeOf(summaries, own.Thresholds, host);
            },
            host.Stop);
        if (own.Remaining.Contains("--help"))
        {
            host.Out.WriteLine(BenchArguments.Help);
        }

        if (isSilent && !isRun)
        {
            host.Say("no benchmark was run; to see why, run it without --quiet and --json.");
        }

        if (!host.Stop.IsCancellationRequested)
        {
            return code == ExitCode.Success ? failed : code;
        }

        host.Say("stopped; the completed part is reported as partial.");
        return ExitCode.Interrupted;
    }

    private static void Write(IReadOnlyList<Summary> summaries, BenchArguments own, WeirHost host)
    {
        if (own.Json)
        {
            // An array, because each class has a summary of its own.
            host.Out.WriteLine($"[{string.Join(",\n", summaries.Select(static s => Text(JsonExporter.FullCompressed, s).Trim()))}]");
        }
        else if (own.Quiet)
        {
            foreach (Summary summary in summaries)
            {
                host.Out.WriteLine(Text(MarkdownExporter.Console, summary).Trim());
            }
        }
    }

    private static int CodeOf(IReadOnlyList<Summary> summaries, IReadOnlyList<Threshold> thresholds, WeirHost host)
    {
        (Finding Finding, bool IsBroken)[] found =
        [
            .. summaries.Where(static s => s.Reports.Any(static r => r.Success))
                .Select(static s => BenchmarkDotNetReport.Find(Text(JsonExporter.FullCompressed, s), s.Title, DateTimeOffset.UtcNow)!)
                .SelectMany(result => thresholds.SelectMany(t => t.Check(result))),
        ];
        foreach ((Finding finding, _) in found)
        {
            host.Say(finding.Text);
        }

        return Array.Exists(found, static f => f.IsBroken) ? ExitCode.Regression : found.Length > 0 ? ExitCode.Invalid : ExitCode.Success;
    }

    private static string Text(IExporter exporter, Summary summary)
    {
        AccumulationLogger text = new();
        exporter.ExportToLog(summary, text);
        return text.GetLog();
    }

    // The defaults without their logger: nothing is printed until the end. The log file is still written.
    private static ManualConfig Silent()
    {
        IConfig defaults = DefaultConfig.Instance;
        return ManualConfig.CreateEmpty()
            .AddLogger(NullLogger.Instance)
            .AddColumnProvider([.. defaults.GetColumnProviders()])
            .AddExporter([.. defaults.GetExporters()])
            .AddAnalyser([.. defaults.GetAnalysers()])
            .AddValidator([.. defaults.GetValidators()])
            .WithUnionRule(ConfigUnionRule.Union);
    }
}

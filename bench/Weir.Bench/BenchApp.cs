using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Exporters.Json;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using Weir.Cli.Kit.App;
using Weir.Lab.Benchmarks;
using Weir.Lab.Suites;
using Weir.Lab.Work;

namespace Weir.Bench;

/// <summary>The program that <c>eng/bench</c> starts: the benchmark suites, with BenchmarkDotNet's own arguments and some more.</summary>
internal static class BenchApp
{
    public const string Name = "eng/bench";

    public static Task<int> RunAsync(IReadOnlyList<string> arguments, CliHost host) =>
        CliApp.GuardAsync(host, () => Task.FromResult(Run(arguments, host)));

    private static int Run(IReadOnlyList<string> arguments, CliHost host)
    {
        BenchArguments own = BenchArguments.Parse(arguments);
        if (own.Directory is { } directory && !own.Remaining.Any(LabBenchmarks.IsQuestion))
        {
            ResultOutput.CheckCanWrite(Path.Combine(directory, $".weir-bench-{Environment.ProcessId}"));
        }

        bool isSilent = own.IsSilent && !own.Remaining.Any(LabBenchmarks.IsQuestion);
        bool isRun = false;
        int failed = ExitCode.Success;
        int code = Run(
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
            host);
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

    // The exit code: 3 when a benchmark has no result, as when its arms do unequal work, and 1 for an argument that cannot be used, or that no benchmark
    // answers to. A run that is stopped ends after the benchmark that is measured.
    private static int Run(string[] arguments, IConfig? config, Action<IReadOnlyList<Summary>> done, CliHost host)
    {
        // Before any child process starts, so that all of them spin the same number of times.
        SpinSpeed.Publish();
        try
        {
            IReadOnlyList<Summary> summaries = LabBenchmarks.Run(typeof(Suite).Assembly, arguments, config, host.Stop);
            done(summaries);

            // Without a summary, BenchmarkDotNet has logged the reason: an argument or a filter that it does not understand.
            return summaries.Count == 0 && !arguments.Any(LabBenchmarks.IsQuestion) ? ExitCode.Failure
                : summaries.Any(static summary => summary.HasCriticalValidationErrors || summary.Reports.Any(static report => !report.Success))
                    ? ExitCode.Invalid
                : ExitCode.Success;
        }
        catch (ArgumentException error) when (error.ParamName is null)
        {
            host.Say($"{error.Message}");
            return ExitCode.Failure;
        }
    }

    private static void Write(IReadOnlyList<Summary> summaries, BenchArguments own, CliHost host)
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

    private static int CodeOf(IReadOnlyList<Summary> summaries, IReadOnlyList<Threshold> thresholds, CliHost host)
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

using System.CommandLine;
using System.Diagnostics;
using Weir.Cli.Hosting;
using Weir.Cli.Measuring;
using Weir.Cli.Options;
using Weir.Cli.Processes;
using Weir.Cli.Progress;
using Weir.Cli.Report.Output;
using Weir.Cli.Report.Page;
using Weir.Cli.Results;
using Weir.Cli.Workloads;
using Weir.Lab.Statistics;

namespace Weir.Cli.Commands.Compare;

/// <summary>The <c>compare</c> command: says whether one thing is faster than another, slower, equal, or that nothing can be said.</summary>
internal static class CompareCommand
{
    private const int MostRounds = 96;
    private const int MostProcesses = 8;
    private const string DefaultWithin = "35s";

    public static Command Create(CliHost host)
    {
        Argument<string> before = new("A") { Description = "What is compared with: a workload as NAME or NAME:grain=TIME,workers=N,gc=wks, a result file, or @BASELINE. " + WorkloadArgument.Help };
        Argument<string> after = new("B") { Description = "What is compared" };
        RunOptionSet options = new(isScale: false, rounds: MostRounds, duration: "100ms");
        CompareOptionSet compare = new();
        BaselineOption directory = new();
        OutputOptionSet outputs = new();
        Command command = new(
            "compare",
            "Compares B with A. Two workloads are measured in many short rounds, by pairs of processes that take turns (ABBA), until it is decided. Exit code 2 when B is slower.") { before, after };
        TextOption processes = TextOption.Of("--processes", null, "N", $"How many processes each side has. Default {MostProcesses}");
        TextOption within = TextOption.Of("--within", null, "TIME", $"When to end, decided or not. Default {DefaultWithin}");
        options.AddTo(command);
        command.Add(processes.Flag);
        command.Add(within.Flag);
        compare.AddTo(command);
        command.Add(directory.Flag);
        outputs.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            string[] texts = [parsed.GetRequiredValue(before), parsed.GetRequiredValue(after)];
            ComparisonOptions comparison = compare.Read(parsed);
            OutputSettings output = outputs.Read(parsed);
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            ResultFile?[] files = [.. texts.Select(t => Stored(t, directory.Store(parsed)))];
            ResultFile result;
            if (files is [{ } a, { } b])
            {
                result = ResultComparing.Compare((NameOf(texts[0]), a), (NameOf(texts[1]), b), comparison, compare.Across(parsed), arguments);
            }
            else if (files is [null, null])
            {
                if (compare.Across(parsed).Count > 0)
                {
                    throw new BadInputException("--across is for two stored results; workloads that are measured in turns say themselves what differs.");
                }

                result = await RunProgress.RunAsync(host, output.Quiet, p => InTurnsAsync(
                    texts,
                    t => options.Read(parsed, t),
                    settings => new TurnPlan(
                        processes.Find(parsed, static _ => null)?.WholeNumber(2, 64) ?? MostProcesses,
                        settings.Rounds,
                        (within.Find(parsed, static _ => null) ?? new OptionValue("--within", DefaultWithin)).Time(TimeSpan.FromSeconds(1), TimeSpan.FromHours(1), "35s")),
                    comparison,
                    arguments,
                    host,
                    p)).ConfigureAwait(false);
            }
            else
            {
                throw new BadInputException("A and B must be two workloads, which are then measured in turns, or two stored results; 'weir baseline check' measures a baseline again.");
            }

            int code = ResultOutput.Write(result, output, host);
            return code != ExitCode.Success || !result.Comparisons.Any(static c => c.Verdict == "SLOWER") ? code : ExitCode.Regression;
        });
        return command;
    }

    private static string NameOf(string text) => text.StartsWith('@') ? text : Path.GetFileNameWithoutExtension(text);

    private static ResultFile? Stored(string text, BaselineStore store) =>
        text.StartsWith('@') ? store.Load(text[1..])
        : text.EndsWith(".json", StringComparison.OrdinalIgnoreCase) || text.EndsWith(".html", StringComparison.OrdinalIgnoreCase) ? One(text)
        : null;

    private static ResultFile One(string path) => StoredResults.Read(path) is [{ } only]
        ? only
        : throw new BadInputException($"'{path}' holds several results; compare needs a file with one.");

    private static async Task<ResultFile> InTurnsAsync(
        string[] texts, Func<string, RunSettings> read, Func<RunSettings, TurnPlan> plan, ComparisonOptions comparison, IReadOnlyList<string> arguments, CliHost host, RunProgress progress)
    {
        long began = Stopwatch.GetTimestamp();
        RunSettings[] settings = [.. texts.Select(read)];
        WorkloadSpec[] specs = [.. settings.Select(static k => k.Workload)];

        // Two of one name need names of their own, also when they are the same thing.
        string[] names = specs[0].Name != specs[1].Name ? [specs[0].Name, specs[1].Name]
            : texts[0] != texts[1] ? [texts[0], texts[1]]
            : [$"A: {texts[0]}", $"B: {texts[1]}"];
        WorkerOrder[] orders = [.. settings.Select((k, i) => k.Order(k.Workload, k.Workers[0], rounds: 1) with { Name = names[i] })];
        Turns turns = new(host, plan(settings[0]), comparison, progress);
        ResultFile result = await new WorkerArms(host, "compare", arguments)
            .MeasureInTurnsAsync(orders, settings[0], o => turns.MeasureAsync(o, began)).ConfigureAwait(false);
        TurnRound[] rounds = [.. Turns.RoundsOf(result.Arms[0], isCandidate: false), .. Turns.RoundsOf(result.Arms[1], isCandidate: true)];
        return result with { Comparisons = rounds.Length > 0 ? [Comparing.Turns(result.Arms[1], result.Arms[0], rounds, comparison, turns.Looks, turns.Share)] : [] };
    }
}

using System.CommandLine;
using System.Diagnostics;
using Weir.Cli.Hosting;
using Weir.Cli.Page;
using Weir.Cli.Progress;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;
using Weir.Cli.Run;
using Weir.Cli.Settings;
using Weir.Cli.Workloads;
using Weir.Lab.Statistics;

namespace Weir.Cli.Compare;

/// <summary>The <c>compare</c> command: says whether one thing is faster than another, slower, equal, or that nothing can be said.</summary>
internal static class CompareCommand
{
    private const int MostRounds = 96;
    private const int MostProcesses = 8;
    private const string DefaultWithin = "35s";

    public static Command Create(CliHost host)
    {
        Argument<string> before = new("A") { Description = "What is compared with: a workload as NAME or NAME:grain=TIME,workers=N,gc=wks, a result file, or @BASELINE. " + RunCommand.Help };
        Argument<string> after = new("B") { Description = "What is compared" };
        RunOptionSet options = new(isScale: false, rounds: MostRounds, duration: "100ms");
        CompareOptionSet compare = new();
        Setting directory = DirectorySetting();
        OutputOptionSet outputs = new();
        Command command = new(
            "compare",
            "Compares B with A. Two workloads are measured in many short rounds, by pairs of processes that take turns (ABBA), until it is decided. Exit code 2 when B is slower.") { before, after };
        Setting processes = Setting.Of("--processes", null, "N", $"How many processes each side has. Default {MostProcesses}");
        Setting within = Setting.Of("--within", null, "TIME", $"When to end, decided or not. Default {DefaultWithin}");
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
            ResultFile?[] files = [.. texts.Select(t => Stored(t, StoreOf(directory, parsed)))];
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
                    knobs => new TurnPlan(
                        processes.Find(parsed, static _ => null)?.WholeNumber(2, 64) ?? MostProcesses,
                        knobs.Rounds,
                        (within.Find(parsed, static _ => null) ?? new Given("--within", DefaultWithin)).Time(TimeSpan.FromSeconds(1), TimeSpan.FromHours(1), "35s")),
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

    /// <summary>Where baselines are.</summary>
    public static Setting DirectorySetting() => Setting.Of("--dir", null, "DIR", $"Where baselines are. Default {BaselineStore.DefaultDirectory}");

    /// <summary>The store that was asked for.</summary>
    public static BaselineStore StoreOf(Setting directory, ParseResult parsed) =>
        new(directory.Find(parsed, static _ => null) is { } given ? given.Text is { Length: > 0 } text ? text : throw given.Bad("a directory") : BaselineStore.DefaultDirectory);

    private static string NameOf(string text) => text.StartsWith('@') ? text : Path.GetFileNameWithoutExtension(text);

    private static ResultFile? Stored(string text, BaselineStore store) =>
        text.StartsWith('@') ? store.Load(text[1..])
        : text.EndsWith(".json", StringComparison.OrdinalIgnoreCase) || text.EndsWith(".html", StringComparison.OrdinalIgnoreCase) ? One(text)
        : null;

    private static ResultFile One(string path) => ReportCommand.Read(path) is [{ } only]
        ? only
        : throw new BadInputException($"'{path}' holds several results; compare needs a file with one.");

    private static async Task<ResultFile> InTurnsAsync(
        string[] texts, Func<string, RunKnobs> read, Func<RunKnobs, TurnPlan> plan, ComparisonOptions comparison, IReadOnlyList<string> arguments, CliHost host, RunProgress progress)
    {
        long began = Stopwatch.GetTimestamp();
        RunKnobs[] knobs = [.. texts.Select(read)];
        WorkloadSpec[] specs = [.. knobs.Select(static k => k.Workload)];

        // Two of one name need names of their own, also when they are the same thing.
        string[] names = specs[0].Name != specs[1].Name ? [specs[0].Name, specs[1].Name]
            : texts[0] != texts[1] ? [texts[0], texts[1]]
            : [$"A: {texts[0]}", $"B: {texts[1]}"];
        WorkerOrder[] orders = [.. knobs.Select((k, i) => k.Order(k.Workload, k.Workers[0], rounds: 1) with { Name = names[i] })];
        Turns turns = new(host, plan(knobs[0]), comparison, progress);
        ResultFile result = await new WorkerArms(host, "compare", arguments)
            .MeasureInTurnsAsync(orders, knobs[0], o => turns.MeasureAsync(o, began)).ConfigureAwait(false);
        TurnRound[] rounds = [.. Turns.RoundsOf(result.Arms[0], isCandidate: false), .. Turns.RoundsOf(result.Arms[1], isCandidate: true)];
        return result with { Comparisons = rounds.Length > 0 ? [Comparing.Turns(result.Arms[1], result.Arms[0], rounds, comparison, turns.Looks, turns.Share)] : [] };
    }
}

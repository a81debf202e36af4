using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.Compare;

/// <summary>The <c>compare</c> command: decides whether one thing is faster than another, slower or equal, or that the data does not tell.</summary>
internal static class CompareCommand
{
    private const int MostRounds = 96;
    private const int MostProcesses = 16;
    private const string DefaultWithin = "30s";
    private static readonly TimeSpan DefaultWithinTime = TimeSpan.FromSeconds(30);

    public const string Name = "compare";

    public const string Description =
        "Compares B with A until the result is decided. They are workloads, your own methods, two builds of them, or stored results, and take turns in many "
            + "short rounds (ABBA). The exit code is 2 if B is slower or allocates more.";

    public static Command Create(WeirHost host)
    {
        SideOptions sides = new(MostRounds);
        CompareOptionSet compare = new();
        HistoryOption directory = new();
        OutputOptionSet outputs = new();
        KeepOption keep = new();
        Command command = new(Name, Description);
        PullRequestOptionSet reviews = new();
        TextOption processes = TextOption.Of("--processes", null, "N", $"The most processes of each side. Default {MostProcesses}");
        TextOption within = TextOption.Of("--within", null, "TIME", $"The most time for a comparison, decided or not. Default {DefaultWithin}");
        sides.AddTo(command);
        reviews.AddTo(command);
        command.AddAll(processes, within);
        compare.AddTo(command);
        command.Add(directory.Flag);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.MakeRare(
            "--groups", "--rate", "--max-failures", "--grain", "--rounds", "--duration", "--processes", "--across", "--dir", "--alpha", "--annotate");
        command.SetAction(async (parsed, _) =>
        {
            string?[] texts = sides.Texts(parsed);
            ComparisonOptions comparison = compare.Read(parsed);
            OutputSettings output = outputs.Read(parsed);
            string? summary = reviews.File(parsed);
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            ResultFile?[] files = [.. texts.Select(t => t is null ? null : Stored(t, directory.Store(parsed)))];
            if (keep.Read(parsed, host) && (files.Any(static f => f is not null) || sides.HasCommits(parsed)))
            {
                throw new BadInputException(
                    "--keep is for what is measured at this commit, not for the commits of --git; 'weir history add' keeps stored results.");
            }

            ResultFile result;
            if (files is [{ } a, { } b])
            {
                if (sides.Runs.Subjects.HasAny(parsed))
                {
                    throw new BadInputException(
                        "Stored results are compared as they are; --assembly, --method, --param, --grain and --gc apply only to measurements.");
                }

                (string before, string after) = NamesOf(texts[0]!, texts[1]!);
                result = ResultComparing.Compare((before, a), (after, b), comparison, compare.Across(parsed), arguments);
            }
            else if (files is [null, null])
            {
                if (compare.Across(parsed).Count > 0)
                {
                    throw new BadInputException("--across is for two stored results; for workloads measured in turns, the command line says what differs.");
                }

                TurnPlan PlanOf(Sides found) => new(
                    processes.Find(parsed)?.WholeNumber(2, 64) ?? MostProcesses,
                    found.Settings.Rounds,
                    within.Find(parsed)?.Time(TimeSpan.FromSeconds(1), TimeSpan.FromHours(1), DefaultWithin)
                        ?? DefaultWithinTime * (found.Groups[0].Count - 1));

                ComparisonOptions each = compare.Read(parsed, CompareOptionSet.InTurns);
                result = await RunProgress.RunAsync(host, output.Quiet, p => sides.UseAsync(
                    parsed, p, found => new InTurns(found, PlanOf(found), each, host, p).MeasureAsync(arguments), host.Stop));
            }
            else
            {
                throw new BadInputException(
                    "A and B must be two workloads, which are measured in turns, or two stored results; 'weir history check' measures one again.");
            }

            int code = ResultOutput.Write(result, output, host);
            keep.Keep(parsed, result, host);
            return reviews.Write(parsed, summary, result, code, host);
        });
        return command;
    }

    /// <summary>What two stored results are called: files of one name, such as two weir-run.json, by their paths.</summary>
    internal static (string Before, string After) NamesOf(string before, string after)
    {
        static string NameOf(string text) => text.StartsWith('@') ? text : Path.GetFileNameWithoutExtension(text);
        return NameOf(before) == NameOf(after) && !before.StartsWith('@') ? (before, after) : (NameOf(before), NameOf(after));
    }

    internal static ResultFile? Stored(string text, HistoryStore store) =>
        text.StartsWith('@') ? store.Named(text[1..])
        : text.EndsWith(".json", StringComparison.OrdinalIgnoreCase) || text.EndsWith(".html", StringComparison.OrdinalIgnoreCase) ? One(text)
        : null;

    private static ResultFile One(string path) => StoredResults.Read(path) is [{ } only]
        ? only
        : throw new BadInputException($"'{path}' holds several results; compare needs a file with one.");
}

/// <summary>What is measured in turns: two workloads, methods, two builds, or two commits.</summary>
internal sealed class SideOptions
{
    private readonly Argument<string?> _before =
        new("A") { Description = "The side to compare with: a workload as NAME or NAME:grain=TIME,workers=N,gc=wks, a result file, or "
        + "@NAME of a kept one; absent with --assembly. " + WorkloadArgument.Help, Arity = ArgumentArity.ZeroOrOne };

    private readonly Argument<string?> _after =
        new("B") { Description = "The side to compare; absent if methods, builds or values of a parameter are compared", Arity = ArgumentArity.ZeroOrOne };

    private readonly TextOption _against = TextOption.Of("--against", null, "FILE", "Another build of --assembly to compare with it");
    private readonly TextOption _git = TextOption.Of("--git", null, "A..B", "Two commits whose builds of --project are compared, such as main..HEAD");
    private readonly TextOption _project = TextOption.Of("--project", null, "DIR", "With --git, the project with the code");

    /// <summary>Creates the options.</summary>
    /// <param name="rounds">How many rounds a side has at most by default.</param>
    public SideOptions(int rounds) => Runs = new RunOptionSet(isScale: false, rounds, duration: "100ms", isDecided: true);

    /// <summary>The options of workloads.</summary>
    public RunOptionSet Runs { get; }

    public void AddTo(Command command)
    {
        command.Add(_before);
        command.Add(_after);
        Runs.AddTo(command);
        command.AddAll(_against, _git, _project);
    }

    /// <summary>A and B; <see langword="null"/> for one that is not given.</summary>
    public string?[] Texts(ParseResult parsed) => [parsed.GetValue(_before), parsed.GetValue(_after)];

    /// <summary>Whether two commits are compared.</summary>
    public bool HasCommits(ParseResult parsed) => _git.Find(parsed) is not null;

    /// <summary>Finds the sides, builds them if they are commits, and uses them.</summary>
    /// <exception cref="BadInputException">There are not two things to compare, or one cannot be used.</exception>
    public async Task<ResultFile> UseAsync(ParseResult parsed, RunProgress progress, Func<Sides, Task<ResultFile>> use, CancellationToken stop)
    {
        OptionValue? range = _git.Find(parsed);
        OptionValue? source = _project.Find(parsed);
        OptionValue? other = _against.Find(parsed);
        string?[] texts = Texts(parsed);
        if (range is null != source is null || (range is not null && (texts[0] is not null || Runs.Subjects.HasAssembly(parsed) || other is not null)))
        {
            throw new BadInputException(
                "--git and --project must be used together, and select what is compared: --git main..HEAD --project src/MyLib --method "
                    + "Namespace.Class.Method.");
        }

        if (range is null)
        {
            return await use(Sides.Of(parsed, texts, Runs, other));
        }

        await using GitBuilds builds = await GitBuilds.MakeAsync(range, source!, progress, stop);
        return await use(Sides.Of(parsed, Runs, builds.Before, builds.After));
    }
}

/// <summary>The options that decide what counts as a difference.</summary>
internal sealed class CompareOptionSet
{
    /// <summary>
    /// What is usual of what takes turns. A quick call hardly depends on neighbours, which take whole slices of time from a few calls.
    /// </summary>
    public static readonly ComparedFigure[] InTurns = [ComparedFigure.Rate, ComparedFigure.P25, ComparedFigure.Bytes];

    /// <summary>What is usual in histories.</summary>
    public static readonly ComparedFigure[] ByCommit = [ComparedFigure.Rate, ComparedFigure.P99, ComparedFigure.Bytes];

    private readonly TextOption _margin =
        TextOption.Of("--margin", null, "SHARE", "The difference up to which two things count as equal: 3% or 0.03. Default 3%");
    private readonly TextOption _alpha =
        TextOption.Of("--alpha", null, "SHARE", "The probability that a difference is claimed where there is none. Default 1%");

    private readonly TextOption _figures =
        TextOption.Of("--figures", null, "NAME,...", "What is compared: rate, bytes, p25, p50, p90, p99. Default rate,bytes; in turns p25 too, by commit p99");

    private readonly TextOption _across =
        TextOption.Of("--across", null, "SETTING,...", "The settings in which two stored results may differ, such as grain; other differences are refused");

    /// <summary>The options for everything that is measured in turns.</summary>
    public IReadOnlyList<Option> OfTurns => [_margin, _alpha];

    /// <summary>The options for histories.</summary>
    public IReadOnlyList<Option> OfHistory => [.. OfTurns, _figures];

    public void AddTo(Command command) => command.AddAll(_margin, _alpha, _figures, _across);

    /// <summary>Reads them.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="usual">What is compared if it is not said; <see langword="null"/> for what is usual with stored results.</param>
    public ComparisonOptions Read(ParseResult parsed, IReadOnlyList<ComparedFigure>? usual = null) => new()
    {
        Margin = _margin.Find(parsed)?.Share(0.0001, 0.9) ?? 0.03,
        Alpha = _alpha.Find(parsed)?.Share(0.0001, 0.49) ?? 0.01,
        Figures = _figures.Find(parsed) is { } given ? FiguresOf(given) : usual ?? new ComparisonOptions().Figures,
    };

    private static ComparedFigure[] FiguresOf(OptionValue given) =>
        [.. given.Text.Split(',').Select(name => Enum.GetValues<ComparedFigure>().Cast<ComparedFigure?>()
            .FirstOrDefault(f => FigureWords.Of(f!.Value) == name.Trim()) ?? throw given.Bad("one or more of rate, bytes, p25, p50, p90 and p99")).Distinct()];

    /// <summary>The settings that may differ.</summary>
    public IReadOnlyList<string> Across(ParseResult parsed) => _across.Find(parsed) is { } given
        ? given.Text.Split(',', StringSplitOptions.TrimEntries) is var names && names.All(static n => n.Length > 0)
            ? names
            : throw given.Bad("names of settings separated by commas, such as grain,rate")
        : [];
}

/// <summary>Compares two results that were measured one after the other. If they are not comparable, it names the option that allows the comparison.</summary>
internal static class ResultComparing
{
    /// <summary>Compares.</summary>
    /// <param name="before">The one that is compared with.</param>
    /// <param name="after">The one that is compared.</param>
    /// <param name="options">Margin and level.</param>
    /// <param name="across">The settings that may differ between the two.</param>
    /// <param name="arguments">The arguments that repeat the comparison.</param>
    public static ResultFile Compare(
        (string Name, ResultFile Result) before, (string Name, ResultFile Result) after, ComparisonOptions options, IReadOnlyList<string> across,
        IReadOnlyList<string> arguments)
    {
        try
        {
            return ResultComparison.Of(before, after, options, across) with { Arguments = arguments };
        }
        catch (IncomparableResultsException e)
        {
            throw new BadInputException(e.Settings.Count == 0
                ? e.Message
                : $"{e.Message.TrimEnd('.')}: add --across {string.Join(',', e.Settings)} if that is what you want to compare.");
        }
    }
}

/// <summary>What a comparison leaves for reviewers of a change, and the exit code that it ends with.</summary>
internal sealed class PullRequestOptionSet
{
    private readonly TextOption _summary = TextOption.Of("--summary", null, "FILE", "Append a short summary in Markdown, for a pull request");
    private readonly Option<bool> _annotate = new("--annotate") { Description = "Print what is slower as GitHub annotations" };

    public IReadOnlyList<Option> Options => [_summary, _annotate];

    public void AddTo(Command command) => command.AddAll(Options);

    /// <summary>The file of the summary, to which can be written; <see langword="null"/> for none.</summary>
    public string? File(ParseResult parsed)
    {
        string? file = _summary.Find(parsed)?.NotEmpty("a file");
        if (file is not null)
        {
            ResultOutput.CheckCanWrite(file);
        }

        return file;
    }

    /// <summary>Writes what is asked for.</summary>
    /// <returns>The exit code of the command, which says whether something is worse.</returns>
    public int Write(ParseResult parsed, string? file, ResultFile result, int code, WeirHost host)
    {
        PullRequestSummary.Append(result, file, parsed.GetValue(_annotate), host.Error);
        return code != ExitCode.Success || !result.Comparisons.Any(static c => c.IsWorse) ? code : ExitCode.Regression;
    }
}

/// <summary>The option that says which verdicts make a command fail.</summary>
/// <param name="otherwise">What happens without it.</param>
internal sealed class FailOnOption(string otherwise)
{
    private static readonly Dictionary<string, bool> Words = new(StringComparer.OrdinalIgnoreCase) { ["slower"] = false, ["inconclusive"] = true };

    private readonly TextOption _failOn =
        TextOption.Of("--fail-on", null, "WHAT", $"slower (exit code 2), or inconclusive (exit code 4 as well). Default {otherwise}");

    public Option<string?> Flag => _failOn;

    /// <summary>Whether it fails if nothing is decided too; <see langword="null"/> if it was not said.</summary>
    public bool? IsStrict(ParseResult parsed) => _failOn.Find(parsed)?.OneOf(Words);

    /// <summary>The exit code: that of what is worse, or else of what is not decided.</summary>
    public static int Code(int code, ResultFile result, bool isStrict) =>
        code == ExitCode.Success && isStrict && result.Comparisons.Any(static c => c.Verdict == Verdict.Inconclusive) ? ExitCode.Inconclusive : code;
}

/// <summary>
/// The result of a comparison for reviewers of a change: a short text in Markdown, and annotations in the format of GitHub's runners.
/// </summary>
internal static class PullRequestSummary
{
    private static readonly Verdict[] Order = [Verdict.Slower, Verdict.More, Verdict.Inconclusive, Verdict.Faster, Verdict.Less, Verdict.Equivalent];

    /// <summary>The text in Markdown: the verdicts, with those that need attention first.</summary>
    public static string Markdown(ResultFile result)
    {
        StringBuilder text = new();
        ComparisonRecord[] comparisons = [.. result.Comparisons.OrderBy(static c => Array.IndexOf(Order, c.Verdict))];
        Answer answer = Answer.Of(result);
        text.Append("### ").Append(Escaped(answer.Sentence)).Append("\n\n").Append(answer.Ground.Length == 0 ? "" : Escaped(answer.Ground) + "\n\n");
        if (comparisons.Length > 0)
        {
            text.Append("| verdict | what | against | figure | ratio | interval | smallest that is found |\n|---|---|---|---|---:|---:|---:|\n");
            foreach (ComparisonRecord c in comparisons)
            {
                text.Append(FormattableString.Invariant($"| {VerdictWords.Of(c.Verdict)} | {Escaped(c.Arm)} | {Escaped(c.Against)} | "))
                    .Append(FormattableString.Invariant($"{FigureWords.Of(c.Figure)} | {c.Ratio:0.000}x | {c.Interval} | {Smallest(c)} |\n"));
            }

            text.Append('\n');
        }

        foreach (Finding finding in result.Findings.Where(static f => f.Level > FindingLevel.Note))
        {
            text.Append("- ").Append(finding.Level == FindingLevel.Invalid ? "**invalid**: " : "").Append(Escaped(finding.Text)).Append('\n');
        }

        return text.Append(FormattableString.Invariant(
            $"\n<sub>{Escaped(result.Machine.Cpu)}, {result.Machine.Cores} cores, .NET {result.Machine.Dotnet}; a rate above 1x is faster</sub>\n")).ToString();
    }

    /// <summary>Writes both, as they are asked for.</summary>
    /// <param name="result">The result.</param>
    /// <param name="file">The file that the text is appended to; <see langword="null"/> for none.</param>
    /// <param name="isAnnotated">Whether the annotations are written.</param>
    /// <param name="errors">Where they go: with --json, the standard output contains only JSON.</param>
    public static void Append(ResultFile result, string? file, bool isAnnotated, TextWriter errors)
    {
        if (file is not null)
        {
            File.AppendAllText(file, Markdown(result));
        }

        foreach (string line in isAnnotated ? Annotations(result) : [])
        {
            errors.WriteLine(line);
        }
    }

    /// <summary>One line for each comparison that needs attention, and one for each finding that makes the result invalid.</summary>
    public static IEnumerable<string> Annotations(ResultFile result)
    {
        foreach (ComparisonRecord c in result.Comparisons.Where(static c => c.IsWorse || c.Verdict == Verdict.Inconclusive))
        {
            yield return FormattableString.Invariant($"::{(c.IsWorse ? "error" : "notice")} title={Property(c.Arm)} is ")
                + FormattableString.Invariant($"{VerdictWords.Of(c.Verdict)}::{Data($"{c.Ratio:0.000}x of {c.Against}, {c.Interval}")}");
        }

        foreach (Finding finding in result.Findings.Where(static f => f.Level == FindingLevel.Invalid))
        {
            yield return $"::error title=The measurement is invalid::{Data(finding.Text)}";
        }
    }

    private static string Smallest(ComparisonRecord c) => c.Figure == ComparedFigure.Bytes ? (c.Interval == "exact" ? "1 B" : "-")
        : c.Detectable is { } change ? FormattableString.Invariant($"{change * 100:0.#} %")
        : "-";

    private static string Escaped(string text) =>
        text.Replace("|", "\\|", StringComparison.Ordinal).Replace("<", "&lt;", StringComparison.Ordinal).Replace("\n", " ", StringComparison.Ordinal);

    // As the runner reads them: https://github.com/actions/toolkit, command.ts.
    private static string Data(string text) =>
        text.Replace("%", "%25", StringComparison.Ordinal).Replace("\r", "%0D", StringComparison.Ordinal).Replace("\n", "%0A", StringComparison.Ordinal);

    private static string Property(string text) => Data(text).Replace(":", "%3A", StringComparison.Ordinal).Replace(",", "%2C", StringComparison.Ordinal);
}

using System.Text.Json.Serialization;
using Weir.Lab.Report.Page;
using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.History;

/// <summary>The <c>history</c> command: shows the results that were kept by commit, and says at which commits they changed.</summary>
internal static class HistoryCommand
{
    public const string Name = "history";

    public const string Description = "Shows at which commits a figure changed. It reads the results that --keep has stored.";

    /// <summary>Creates the command.</summary>
    /// <param name="host">The environment of the command.</param>
    /// <param name="run">Runs a command of this program, to repeat a measurement.</param>
    public static Command Create(WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run)
    {
        HistoryOption directory = new();
        directory.Flag.Recursive = true;
        TextOption arm = TextOption.Of("--arm", null, "TEXT", "Only arms whose name contains this text");
        TextOption machine = TextOption.Of("--machine", null, "HASH", "Only results of this machine. Default: all, each separately");
        Option<bool> dirty = new("--dirty") { Description = "Also results of trees with uncommitted changes, as separate commits" };
        CompareOptionSet compare = new();
        TextOption page = TextOption.Of("--out", null, "FILE", "Also write a page with a plot of each arm");
        page.Aliases.Add("-o");
        Option<bool> json = new("--json") { Description = "Print JSON and nothing else" };
        Command command = new(Name, Description)
        {
            directory.Flag, arm, machine, dirty, page, json,
            Add(directory, host),
            List(directory, host),
            NamedCommands.Save(directory, host),
            NamedCommands.Check(directory, host, run),
        };
        command.AddAll(compare.OfHistory);
        command.SetAction((parsed, _) =>
        {
            string? file = page.Find(parsed)?.NotEmpty("a file");
            ComparisonOptions options = compare.Read(parsed, CompareOptionSet.ByCommit);
            IReadOnlyList<ResultFile> all = [.. directory.Store(parsed).Load().Select(static r => r.Result)];
            bool isWithDirty = parsed.GetValue(dirty);
            string? hash = machine.Find(parsed)?.Text;
            string? text = arm.Find(parsed)?.Text;
            ResultFile[] results =
            [
                .. all.Where(r => (isWithDirty || r.Source!.Clean) && (hash is null || r.Machine.Hash == hash))
                    .Select(r => text is null ? r : r with { Arms = [.. r.Arms.Where(a => a.Label.Contains(text, StringComparison.OrdinalIgnoreCase))] }),
            ];
            (IReadOnlyList<HistorySeries> series, bool isByCommit) = ResultSeries.Of(results, ResultSeries.Commits(results), options);
            if (series.Count == 0)
            {
                string?[] asked =
                [
                    isWithDirty ? null : "a clean tree (--dirty includes the others)",
                    hash is null ? null : $"the machine '{hash}'",
                    text is null ? null : $"an arm with '{text}' in its name",
                ];
                throw new BadInputException($"None of {Numbers.Counted(all.Count, "result")} is of {string.Join(" and ", asked.OfType<string>())}.");
            }

            string[] notes = [.. Notes(all, results, series, options, isWithDirty, isByCommit)];
            if (file is not null)
            {
                ResultOutput.WriteFile(file, HistoryPage.Write(series, notes));
            }

            if (parsed.GetValue(json))
            {
                host.Out.WriteLine(JsonSerializer.Serialize(series, ResultJson.Indented));
            }
            else
            {
                Write(series, notes, results.Length, host);
            }

            if (file is not null)
            {
                host.Error.WriteLine($"wrote {file}");
            }

            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static Command Add(HistoryOption directory, WeirHost host)
    {
        Argument<string[]> files = new("FILE") { Description = "Result files (--export json), or pages made from them", Arity = ArgumentArity.OneOrMore };
        Command command = new("add", "Keeps results by the commit at which they were measured.") { files };
        command.SetAction((parsed, _) =>
        {
            (string File, ResultFile Result)[] results =
                [.. parsed.GetRequiredValue(files).SelectMany(static f => StoredResults.Read(f), static (f, r) => (f, r))];
            foreach ((string file, ResultFile result) in results)
            {
                if (HistoryStore.FindProblem(result) is { } why)
                {
                    throw new BadInputException($"'{file}' cannot be kept: {why}.");
                }
            }

            foreach (ResultFile result in results.Select(static r => r.Result))
            {
                host.Out.WriteLine($"kept {directory.Store(parsed).Add(result)}");
            }

            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static Command List(HistoryOption directory, WeirHost host)
    {
        Option<bool> json = new("--json") { Description = "Print JSON and nothing else" };
        Command command = new("list", "Lists the results.") { json };
        command.SetAction((parsed, _) =>
        {
            HistoryStore store = directory.Store(parsed);
            IReadOnlyList<string> names = store.Names();
            KeptResult[] results =
            [
                .. names.Select(n => KeptResult.Of(store.PathOf(n), store.Named(n), n)),
                .. (names.Count > 0 ? store.ByCommit() : store.Load()).Select(static r => KeptResult.Of(r.File, r.Result, null)),
            ];
            if (parsed.GetValue(json))
            {
                host.Out.WriteLine(JsonSerializer.Serialize(results, ResultJson.Indented));
                return Task.FromResult(ExitCode.Success);
            }

            Table table = Table.Of(
                "Results",
                names.Count > 0 ? 3 : 2,
                results,
                ("name", static r => r.Name),
                ("measured", static r => FormattableString.Invariant($"{r.StartedAt.UtcDateTime:yyyy-MM-dd HH:mm:ss}")),
                ("commit", static r => r.Commit?[..Math.Min(7, r.Commit.Length)]),
                ("tree", static r => r.Clean switch { true => "clean", false => "changed", null => null }),
                ("machine", static r => r.Machine),
                ("command", static r => r.Command),
                ("arms", static r => $"{r.Arms.Count}"),
                ("file", static r => r.IsCalledByTheStore ? null : Path.GetFileName(r.File)));
            TableText.Write(table, host.Out, host.Style);
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static void Write(IReadOnlyList<HistorySeries> series, string[] notes, int results, WeirHost host)
    {
        Prose prose = new(host.Out, host.Width);
        prose.Write([HistoryTables.Answer(series)]);
        List<string> noRoom = [];
        foreach (HistorySeries[] own in series.GroupBy(static s => s.Machine).Select(static g => g.ToArray()))
        {
            foreach (Table table in new[] { HistoryTables.Changes(own), HistoryTables.Arms(own) }.OfType<Table>())
            {
                host.Out.WriteLine();
                noRoom.AddRange(TableText.Write(table, host.Out, host.Style));
            }
        }

        host.Out.WriteLine();
        prose.Write(
        [
            .. series.SelectMany(static s => s.Changes, HistoryTables.Sentence).Select(static sentence => $"CHANGE   {sentence}"),
            .. notes.Select(static note => $"note     {note}"),
            .. TextReport.NoRoom(noRoom),
            "",
            $"weir history   {Numbers.Counted(results, "result")} of "
                + $"{Numbers.Counted(series.SelectMany(static s => s.Points).Select(static p => p.Name).Distinct().Count(), "commit")}",
        ]);
    }

    private static IEnumerable<string> Notes(
        IReadOnlyList<ResultFile> all, ResultFile[] results, IReadOnlyList<HistorySeries> series, ComparisonOptions options, bool isWithDirty, bool isByCommit)
    {
        yield return FormattableString.Invariant($"If nothing has changed, a change is still claimed in at most {options.Alpha * 100:0.##} % of ")
            + FormattableString.Invariant($"histories{(series.Count > 1 ? $"; {series.Count} series share that" : "")}.");

        int disturbed = series.Where(static s => s.Figure == ComparedFigure.Rate).Sum(static s => s.Points.Count(static p => p.Disturbed));
        if (disturbed > 0)
        {
            yield return $"{Numbers.Counted(disturbed, "point")} of a machine that was not quiet {(disturbed == 1 ? "is" : "are")} shown, "
                + "but not searched for changes of rates; bytes are exact anyway.";
        }

        int changed = all.Count(static r => !r.Source!.Clean);
        if (changed > 0)
        {
            yield return (isWithDirty, changed) switch
            {
                (true, 1) => "1 result is from a tree with uncommitted changes (+); what was changed is not known.",
                (true, _) => $"{changed} results are from trees with uncommitted changes (+); what was changed is not known.",
                (false, 1) => "1 result from a tree with uncommitted changes is left out; --dirty includes it as a separate commit.",
                _ => $"{changed} results from trees with uncommitted changes are left out; --dirty includes them as separate commits.",
            };
        }

        int machines = results.Select(static r => r.Machine.Hash).Distinct().Count();
        if (machines > 1)
        {
            yield return $"The results are of {machines} machines or environments; each has its own series, and they are not compared.";
        }

        if (!isByCommit)
        {
            yield return "Some commits are not in this repository, so the results are in the order of measurement.";
        }
    }
}

/// <summary>A line of the list of results, as JSON.</summary>
/// <param name="File">Where it is.</param>
/// <param name="Name">The name under which it was saved; <see langword="null"/> if it is kept by its commit.</param>
/// <param name="StartedAt">When it was measured.</param>
/// <param name="Commit">The commit that was measured, if there is one.</param>
/// <param name="Clean">Whether nothing was changed since that commit.</param>
/// <param name="Machine">The hash of the machine.</param>
/// <param name="Command">The command that measured it.</param>
/// <param name="Arms">The names of what was measured.</param>
/// <param name="IsCalledByTheStore">Whether its file has the name that the store gives, which says nothing that the line does not say.</param>
internal sealed record KeptResult(
    string File, string? Name, DateTimeOffset StartedAt, string? Commit, bool? Clean, string Machine, string Command, IReadOnlyList<string> Arms,
    [property: JsonIgnore] bool IsCalledByTheStore)
{
    public static KeptResult Of(string file, ResultFile result, string? name) => new(
        file, name, result.StartedAt, result.Source?.Commit, result.Source?.Clean, result.Machine.Hash, result.Command,
        [.. result.Arms.Where(static a => a.IsMeasured).Select(static a => a.Label)],
        name is not null || Path.GetFileName(file).StartsWith(HistoryStore.NameOf(result), StringComparison.Ordinal));
}

/// <summary>The commands <c>history save</c> and <c>history check</c>: keep a result under a name, and check later results against it, for builds.</summary>
internal static class NamedCommands
{
    public static Command Save(HistoryOption directory, WeirHost host)
    {
        Argument<string> name = new("NAME") { Description = "The name" };
        Argument<string> file = new("FILE") { Description = "A result file (--export json)" };
        Command command = new("save", "Keeps a result under a name. It replaces a result of the same name.") { name, file };
        command.SetAction((parsed, _) =>
        {
            string path = parsed.GetRequiredValue(file);
            ResultFile result = ResultJson.Read(path);
            if (HistoryStore.FindProblemOfAny(result) is { } why)
            {
                throw new BadInputException($"'{path}' cannot be kept: {why}.");
            }

            host.Out.WriteLine($"kept {directory.Store(parsed).Save(parsed.GetRequiredValue(name), result)}");
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    // "run" runs a command of this program, to repeat a measurement.
    public static Command Check(HistoryOption directory, WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run)
    {
        Argument<string> name = new("NAME") { Description = "The name of the result to compare with" };
        Argument<string?> file =
            new("FILE") { Description = "The result to check. If absent, the named result is measured again", Arity = ArgumentArity.ZeroOrOne };
        CompareOptionSet compare = new();
        FailOnOption failOn = new("slower");
        TextOption most = TextOption.Of("--max-regression", null, "SHARE", "How much slower is allowed: 5% or 0.05. Default: the margin");
        PullRequestOptionSet reviews = new();
        OutputOptionSet outputs = new();
        KeepOption keep = new();
        Command command = new("check", "Compares a result with one that has a name. Exit code 2 if it is slower than allowed, or allocates more.")
        {
            name, file,
        };
        compare.AddTo(command);
        command.AddAll(failOn.Flag, most);
        reviews.AddTo(command);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            OutputSettings output = outputs.Read(parsed, "compare");
            string? summary = reviews.File(parsed);
            ComparisonOptions options = compare.Read(parsed);
            if (most.Find(parsed) is { } allowed)
            {
                options = options with { Margin = allowed.Share(0.0001, 0.9) };
            }

            bool strict = failOn.IsStrict(parsed) ?? output.Strict;
            string against = parsed.GetRequiredValue(name);
            ResultFile before = directory.Store(parsed).Named(against);
            if (parsed.GetValue(file) is not null && keep.Read(parsed, host))
            {
                throw new BadInputException("--keep is for what is measured now; a stored result is kept with 'weir history add FILE'.");
            }

            ResultFile? after = parsed.GetValue(file) is { } path
                ? ResultJson.Read(path)
                : await AgainAsync(against, before, output, keep.Read(parsed, host) ? keep.Arguments(parsed) : [], host, run);
            if (after is null)
            {
                return ExitCode.Interrupted;
            }

            ResultFile result = ResultComparing.Compare(
                ("@" + against, before), ("now", after), options, compare.Across(parsed), [.. parsed.Tokens.Select(static t => t.Value)]);
            return FailOnOption.Code(
                reviews.Write(parsed, summary, result, ResultOutput.Write(result, output with { Strict = false }, host), host), result, strict);
        });
        return command;
    }

    // The command itself runs, and its result is read from a file, so that the measurement is the same in every respect. There is no result if it was stopped
    // before there was anything to compare; it has reported that.
    private static async Task<ResultFile?> AgainAsync(
        string name, ResultFile before, OutputSettings output, IReadOnlyList<string> keep, WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run)
    {
        string directory = Directory.CreateTempSubdirectory("weir-").FullName;
        try
        {
            string[] arguments = [.. Without(before.Arguments, ["--export", "--out", "--keep-in", Threshold.Flag], ["--json", "--quiet", "--strict", "--keep",
                "--profile"]), .. keep, "--export", "json", "--out", directory, .. output.Quiet ? ["--quiet"] : Array.Empty<string>()];
            int code = await run(arguments, host with { Out = TextWriter.Null, OutIsTerminal = false });
            string path = Path.Combine(directory, $"weir-{before.Command}.json");
            ResultFile? again = File.Exists(path) ? ResultJson.Read(path) : null;
            if (host.Stop.IsCancellationRequested && again?.Arms.Any(static a => a.IsMeasured) != true)
            {
                return null;
            }

            return again ?? throw new BadInputException($"'@{name}' could not be measured again (exit code {code}).");
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    private static IEnumerable<string> Without(IReadOnlyList<string> arguments, string[] valued, string[] switches)
    {
        for (int i = 0; i < arguments.Count; i++)
        {
            if (valued.Contains(arguments[i]))
            {
                i++;
            }
            else if (!switches.Contains(arguments[i]))
            {
                yield return arguments[i];
            }
        }
    }
}

/// <summary>Sorts the results of a history by commit, and splits them by machine, arm and figure.</summary>
internal static class ResultSeries
{
    /// <summary>Splits them.</summary>
    /// <param name="results">The results, in the order in which they were measured.</param>
    /// <param name="commits">The commits in their order; a commit that is not in it makes the time of measuring the order.</param>
    /// <param name="options">Margin, and the level of all series together.</param>
    /// <returns>The series, those of one machine together; and whether they are in the order of commits.</returns>
    public static (IReadOnlyList<HistorySeries> Series, bool IsByCommit) Of(
        IReadOnlyList<ResultFile> results, IReadOnlyList<string> commits, ComparisonOptions options)
    {
        Dictionary<string, int> positions = commits.Select(static (c, i) => (c, i)).ToDictionary(static x => x.c, static x => x.i);
        bool isByCommit = results.All(r => positions.ContainsKey(r.Source!.Commit));
        ResultFile[] ordered = isByCommit
            ? [.. results.OrderBy(r => positions[r.Source!.Commit]).ThenBy(static r => !r.Source!.Clean).ThenBy(static r => r.StartedAt)]
            : [.. OfOneCommitTogether(results)];
        var groups = ordered
            .SelectMany(static r => r.Arms.Where(static a => a.IsMeasured), static (r, a) => (Result: r, Arm: a))
            .GroupBy(static x => (x.Result.Machine.Hash, x.Arm.Label, Settings: SettingDifferences.Text(x.Result, x.Arm), x.Result.Unit))
            .ToArray();
        HistorySeries[] series = [.. groups.SelectMany(g => options.Figures, (g, figure) => new HistorySeries
            {
                Figure = figure,
                Arm = g.Key.Label,
                Machine = g.Key.Hash,
                MachineText = $"{g.First().Result.Machine.Cores} cores, {g.First().Result.Machine.Cpu}, .NET {g.First().Result.Machine.Dotnet}",
                Unit = g.Key.Unit,

                // Only if the name would be ambiguous.
                Settings = groups.Count(o => o.Key.Hash == g.Key.Hash && o.Key.Label == g.Key.Label) > 1 ? g.Key.Settings : "",
                Points = [.. g.Select(x => HistoryPoint.Of(x.Result, x.Arm, figure)).OfType<HistoryPoint>()],
            }).Where(static s => s.Points.Count > 0)];

        // Exact bytes are never wrong.
        ComparisonOptions each = options with { Alpha = options.Alpha / Math.Max(1, series.Count(static s => s.Figure != ComparedFigure.Bytes)) };
        return ([.. series.Select(s => s.Searched(each)).GroupBy(static s => s.Machine).SelectMany(static g => g)], isByCommit);
    }

    /// <summary>The commits of this repository up to the given ones, in order; empty if git does not answer.</summary>
    public static IReadOnlyList<string> Commits(IReadOnlyList<ResultFile> results) =>
        SourceTree.Order([.. results.Select(static r => r.Source!.Commit).Distinct()]) is { } order
            ? [.. order.Where(new HashSet<string>(results.Select(static r => r.Source!.Commit)).Contains)]
            : [];

    // By the time at which the first result of a commit was measured.
    private static IEnumerable<ResultFile> OfOneCommitTogether(IReadOnlyList<ResultFile> results) => results
        .GroupBy(static r => (r.Source!.Commit, r.Source.Clean))
        .SelectMany(static g => g);
}

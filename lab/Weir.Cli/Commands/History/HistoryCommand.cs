using Weir.Lab.Report.Page;
using Weir.Lab.Report.Tables;

namespace Weir.Cli.Commands.History;

/// <summary>The <c>history</c> command: shows the results that were kept by commit, and says at which commits they changed.</summary>
internal static class HistoryCommand
{
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
        Command command = new("history", "Shows at which commits a figure changed. From the results that --keep kept.")
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
        host.Out.WriteLine($"weir history   {Numbers.Counted(results, "result")} of "
            + $"{Numbers.Counted(series.SelectMany(static s => s.Points).Select(static p => p.Name).Distinct().Count(), "commit")}");
        foreach (HistorySeries[] own in series.GroupBy(static s => s.Machine).Select(static g => g.ToArray()))
        {
            foreach (Table table in new[] { HistoryTables.Arms(own), HistoryTables.Changes(own) }.OfType<Table>())
            {
                host.Out.WriteLine();
                TableText.Write(table, host.Out, host.Style);
            }
        }

        host.Out.WriteLine();
        string[] changes = [.. series.SelectMany(static s => s.Changes, HistoryTables.Sentence)];
        foreach (string sentence in changes.DefaultIfEmpty("none was found."))
        {
            host.Out.WriteLine($"CHANGE   {sentence}");
        }

        foreach (string note in notes)
        {
            host.Out.WriteLine($"note     {note}");
        }
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
                + "but no change of rates is looked for there; bytes are exact all the same.";
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

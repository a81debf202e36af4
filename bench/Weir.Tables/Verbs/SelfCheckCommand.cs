using Weir.Cli.App;
using Weir.Lab.Resources;
using Weir.Tables.SelfChecks;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>selfcheck</c>: the lab shows on itself what it claims.</summary>
internal static class SelfCheckCommand
{
    private const string Program = "eng/tables selfcheck";
    private const string Page = "docs/results/lab.md";
    private const int MostRuns = 1000;
    private const int CanaryPieces = 100;

    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<string[]> only = SuiteOptions.Names(
            "--only", "Which checks: verdicts, methods, neighbours, bytes, gate, stored, trends, profile, waits, law, omission, recording, small, users, "
                + "workers. Without it, all.");
        Option<int> runs =
            SuiteOptions.Number("--runs", "How many comparisons of the same work, and of longer work, a check of verdicts makes: each 30 s, or 60 s. The other "
                + "checks of commands repeat theirs in proportion.", VerdictCheck.UsualRuns, 1, MostRuns);
        Option<DirectoryInfo?> keep = new("--keep") { Description = "Where the results of these commands are kept. Those that are there are not made "
            + "again, so they can be made in parts: --runs 4, then --runs 8. For stored, all that are there count, of whatever day." };
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/lab.md. Sections of checks that are not run stay as they are.");
        Option<FileInfo?> installed = new("--weir") { Description = "The command that is checked, as it is installed, such as artifacts/tool/weir. "
            + "Without it, the one that was built with this program." };
        Command command = new("selfcheck", "Shows that the lab does what it claims. Verdicts (20 minutes; of methods as long, beside neighbours 40 minutes), "
            + "bytes, gates, stored results, trends, shares of profiles, planted waits, laws of scaling (20 minutes together), coordinated omission, the cost "
            + "of recording, short operations, code of users, workers that scale.") { only, runs, keep, installed, page };
        command.SetAction((parsed, token) => Task.Run(
            () => RunAsync(
                output, errors, parsed.GetValue(installed), parsed.GetValue(only) ?? [], parsed.GetValue(runs), parsed.GetValue(keep), parsed.GetValue(page),
                token),
            CancellationToken.None));
        return command;
    }

    private static async Task<int> RunAsync(
        TextWriter output, TextWriter errors, FileInfo? installed, string[] only, int runs, DirectoryInfo? keep, FileInfo? page,
        CancellationToken cancellationToken)
    {
        DirectoryInfo kept = keep ?? Directory.CreateTempSubdirectory("weir-selfcheck-");
        try
        {
            if (installed is { Exists: false })
            {
                throw new BadInputException($"--weir must be the file of an installed command; '{installed}' does not exist.");
            }

            WeirCommand weir = new(installed);
            SelfCheck[] all = All(new KeptRuns(weir, kept, errors), runs, new UsersCheck(weir));
            SelfCheck[] chosen = Selection.Of(all, only, static check => check.Name);
            PageFile.Check(page);
            SpinSpeed.Publish();
            return await RunAsync(output, errors, installed is not null, all, chosen, page, cancellationToken);
        }
        finally
        {
            if (keep is null)
            {
                kept.Delete(recursive: true);
            }
        }
    }

    private static async Task<int> RunAsync(
        TextWriter output, TextWriter errors, bool isInstalled, SelfCheck[] all, SelfCheck[] chosen, FileInfo? page, CancellationToken cancellationToken)
    {
        SectionPage result = new(PageFile.Read(page));
        bool areMet = true;
        foreach (SelfCheck check in chosen)
        {
            try
            {
                cancellationToken.ThrowIfCancellationRequested();
                CheckSection section = await check.RunAsync(cancellationToken);
                areMet &= section.IsMet;
                result.Replace(check.Name, await TextAsync(section, isInstalled));
                await errors.WriteLineAsync($"{check.Title}: {(section.IsMet ? "met" : "not met")}");
            }
            catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
            {
                await errors.WriteLineAsync("Stopped; no page was written.");
                return 130;
            }
        }

        string text = result.Render(
            $"# The lab, checked on itself\n\nMade by `{Program} --output {Page}`; `--only NAME` makes a single section.\n",
            all.Select(static check => new PageSection(
                check.Name, check.Title, Missing: $"Not measured yet: `{Program} --only {check.Name} --output {Page}`")));
        await output.WriteLineAsync(text);
        if (page is not null)
        {
            await File.WriteAllTextAsync(page.FullName, text, CancellationToken.None);
        }

        return areMet ? 0 : 2;
    }

    private static async Task<string> TextAsync(CheckSection section, bool isInstalled)
    {
        CanaryReading canary = Canary.Read(CanaryPieces);
        bool isFit = !section.NeedsQuiet || (canary.IsQuiet && section.IsFit);
        return $"{CheckSection.Judged(section.Goal, section.IsMet, isFit)}\n\n{section.Table}\n"
            + Invariant($"Measured at commit {Surroundings.Commit()}{(isInstalled ? ", the command as it is installed" : "")}; {Surroundings.Machine()}; ")
            + Invariant($"timer tick {(await TimerTick.MeasureAsync()).TotalMilliseconds:0.0} ms; canary {canary.Variation:P1} afterwards.")
            + (isFit ? "" : " **The machine was not quiet: other programs had a share of its processors.**");
    }

    private static SelfCheck[] All(KeptRuns command, int runs, UsersCheck users)
    {
        int Part(int divisor, int least) => Math.Max(least, runs / divisor);
        return
        [
            new("verdicts", "Verdicts", new VerdictCheck(command, VerdictGoal.Lab, runs).RunAsync),
            new("methods", "Verdicts on methods of a user", new VerdictCheck(command, VerdictGoal.Users, runs).RunAsync),
            new("neighbours", "Verdicts on methods of a user, beside four busy neighbours", new VerdictCheck(command, VerdictGoal.Neighboured, runs).RunAsync),
            new("bytes", "Verdicts on bytes, beside four busy neighbours", new BytesCheck(command, Part(2, 1)).RunAsync),
            new("gate", "Gates, beside four busy neighbours", new GateCheck(command, Part(8, 2)).RunAsync),
            new("stored", "Stored results of the same code", new StoredCheck(command, Math.Max(2, runs * 2 / 5)).RunAsync),
            new("trends", "Trends within a run", new TrendsCheck(command, Part(5, 2)).RunAsync),
            new("profile", "Shares of a profile", new ProfileCheck(command, Part(10, 1)).RunAsync),
            new("waits", "Planted waits in a profile", new WaitsCheck(command, Part(10, 1)).RunAsync),
            new("law", "Laws of scaling", static _ => Task.FromResult(LawCheck.Run())),
            new("omission", "Coordinated omission", OmissionCheck.RunAsync),
            new("recording", "Cost of recording", static _ => Task.FromResult(RecordingCheck.Run())),
            new("small", "Short operations", SmallOperationsCheck.RunAsync),
            new("users", "Tried as users would", users.RunAsync),
            new("workers", "Asynchronous workers inside BenchmarkDotNet", static _ => Task.FromResult(ScalingCheck.Run())),
        ];
    }
}

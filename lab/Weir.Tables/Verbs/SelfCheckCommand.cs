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
        Assembly program = typeof(WeirApp).Assembly;
        Option<string[]> only = SuiteOptions.Names(
            "--only", "Which checks: verdicts, methods, neighbours, omission, recording, small, users, workers. Without it, all.");
        Option<int> runs =
            SuiteOptions.Number("--runs", "How many comparisons of the same work, and of longer work, a check of verdicts makes: each 30 s, or 60 s.",
                VerdictCheck.UsualRuns, 1, MostRuns);
        Option<DirectoryInfo?> keep = new("--keep") { Description = "Where the results of these comparisons are kept. Those that are there are not made "
            + "again, so they can be made in parts: --runs 4, then --runs 8." };
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/lab.md. Sections of checks that are not run stay as they are.");
        Command command = new("selfcheck", "Shows that the lab does what it claims. Verdicts (20 minutes; of methods as long, beside neighbours 40 minutes), "
            + "coordinated omission, the cost of recording, short operations, code of users, workers that scale.") { only, runs, keep, page };
        command.SetAction((parsed, token) => Task.Run(
            () => RunAsync(output, errors, program, parsed.GetValue(only) ?? [], parsed.GetValue(runs), parsed.GetValue(keep), parsed.GetValue(page), token),
            CancellationToken.None));
        return command;
    }

    private static async Task<int> RunAsync(
        TextWriter output, TextWriter errors, Assembly program, string[] only, int runs, DirectoryInfo? keep, FileInfo? page,
        CancellationToken cancellationToken)
    {
        DirectoryInfo kept = keep ?? Directory.CreateTempSubdirectory("weir-selfcheck-");
        try
        {
            SelfCheck[] all = All(goal => new VerdictCheck(program, goal, runs, kept, errors), new UsersCheck(program));
            SelfCheck[] chosen = Selection.Of(all, only, static check => check.Name);
            PageFile.Check(page);
            SpinSpeed.Publish();
            return await RunAsync(output, errors, all, chosen, page, cancellationToken);
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
        TextWriter output, TextWriter errors, SelfCheck[] all, SelfCheck[] chosen, FileInfo? page, CancellationToken cancellationToken)
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
                result.Replace(check.Name, await TextAsync(section));
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

    private static async Task<string> TextAsync(CheckSection section)
    {
        CanaryReading canary = Canary.Read(CanaryPieces);
        bool isFit = canary.IsQuiet && section.IsFit;
        return Invariant($"Goal: {section.Goal} {(section.IsMet ? "Met." : isFit ? "**Not met.**" : "**INCONCLUSIVE.**")}\n\n{section.Table}\n")
            + Invariant($"Measured at commit {Surroundings.Commit()}; {Surroundings.Machine()}; timer tick ")
            + Invariant($"{(await TimerTick.MeasureAsync()).TotalMilliseconds:0.0} ms; canary {canary.Variation:P1} afterwards.")
            + (isFit ? "" : " **The machine was not quiet: other programs had a share of its processors.**");
    }

    private static SelfCheck[] All(Func<VerdictGoal, VerdictCheck> verdicts, UsersCheck users) =>
    [
        new("verdicts", "Verdicts", verdicts(VerdictGoal.Lab).RunAsync),
        new("methods", "Verdicts on methods of a user", verdicts(VerdictGoal.Users).RunAsync),
        new("neighbours", "Verdicts on methods of a user, beside four busy neighbours", verdicts(VerdictGoal.Neighboured).RunAsync),
        new("omission", "Coordinated omission", OmissionCheck.RunAsync),
        new("recording", "Cost of recording", static _ => Task.FromResult(RecordingCheck.Run())),
        new("small", "Short operations", SmallOperationsCheck.RunAsync),
        new("users", "Tried as users would", users.RunAsync),
        new("workers", "Asynchronous workers inside BenchmarkDotNet", static _ => Task.FromResult(ScalingCheck.Run())),
    ];
}

using Weir.Cli.Kit.Pages;
using Weir.Tables.Ratios;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>ratios</c>.</summary>
internal static class RatiosCommand
{
    private const int MostRounds = 1000;

    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<string[]> filter = SuiteOptions.Names(
            "--filter", "Which suites, as BenchmarkDotNet's --filter. Without it, all but the published ones, which wait for minutes.");
        Option<SuiteSet?> suites = new("--suites")
        {
            Description = "The set of suites: core (the operators), dataflow (the blocks) or resilience (the policies). Without it, core; with --filter, all.",
        };
        Option<int> rounds = SuiteOptions.Rounds("How often each arm is measured; 0 only brings the page's frame up to date.", 9, 0, MostRounds);
        Option<FileInfo?> page = SuiteOptions.Output("The page to bring up to date. Sections that are not measured, and notes, are kept.");
        Command ratios =
            new("ratios", "Measures Weir beside its peers. The arms of each case take turns in one process; the page has their ratios.")
            {
                filter, suites, rounds, page,
            };
        ratios.SetAction((parsed, token) =>
        {
            SpinSpeed.Publish();
            return Task.Run(
                async () =>
                {
                    FileInfo? file = parsed.GetValue(page);
                    int code = await new RatiosRun(output, errors).RunAsync(
                        parsed.GetValue(filter) ?? [], parsed.GetValue(rounds), file, parsed.GetValue(suites), token);
                    if (file?.Exists == true)
                    {
                        // The measured figures have more digits than the page: a verdict is that of the figure that stands beside it.
                        await File.WriteAllTextAsync(file.FullName, StoredGoals.Judge(PageFile.Read(file)), CancellationToken.None);
                    }

                    return code;
                },
                CancellationToken.None);
        });
        return ratios;
    }
}

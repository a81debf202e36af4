using System.CommandLine;
using Weir.Lab.Suites.Auto;

namespace Weir.Lab.Suites.Verbs;

/// <summary>The command line of <c>auto-table</c>.</summary>
internal static class AutoTableCommand
{
    private const int MostRounds = 1000;

    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<int> rounds = SuiteOptions.Rounds("How often each arm is measured.", 9, 1, MostRounds);
        Option<string[]> only = SuiteOptions.Names("--only", "Which workloads, by their names on the page. Without it, all.");
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/auto.md.");
        Command auto = new("auto-table", "Measures the auto runtime against each fixed runtime, on each kind of work, in turns.") { rounds, only, page };
        auto.SetAction((parsed, token) => Task.Run(
            () => new AutoRun(output, errors).RunAsync(parsed.GetValue(rounds), parsed.GetValue(only) ?? [], parsed.GetValue(page), token),
            CancellationToken.None));
        return auto;
    }
}

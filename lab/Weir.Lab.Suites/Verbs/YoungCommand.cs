using System.CommandLine;
using Weir.Lab.Suites.Young;

namespace Weir.Lab.Suites.Verbs;

/// <summary>The command line of <c>young</c>.</summary>
internal static class YoungCommand
{
    private const int MostRounds = 100;

    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<int> rounds = SuiteOptions.Rounds("How many processes each arm is measured in.", 5, 1, MostRounds);
        Option<string[]> only = SuiteOptions.Names("--only", "Which work, by its name on the page. Without it, all.");
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/young.md. Its notes are kept.");
        Command young = new(YoungRun.Verb, "Measures the first calls of a process: code that was compiled a moment ago. Each measurement in a process of its own.") { rounds, only, page };
        young.SetAction((parsed, token) => Task.Run(
            () => new YoungRun(output, errors).RunAsync(parsed.GetValue(rounds), parsed.GetValue(only) ?? [], parsed.GetValue(page), token),
            CancellationToken.None));
        return young;
    }
}

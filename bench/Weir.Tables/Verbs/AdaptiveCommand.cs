using Weir.Tables.Adaptive;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>adaptive</c>.</summary>
internal static class AdaptiveCommand
{
    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<string[]> filter = SuiteOptions.Names(
            "--filter", "Which rows, by their group, server and slots, such as steady/*/16 or open*. Without it, all.");
        Option<int> seeds = SuiteOptions.Number("--seeds", "How many runs a figure is the mean of.", 4, 1, 100);
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/adaptive.md. Its notes are kept.");
        Command command = new(AdaptiveRun.Verb, "Simulates laws of adaptive limits. Ours and the published ones, beside the best fixed limit.")
        {
            filter, seeds, page,
        };
        command.SetAction((parsed, token) => TableCommand.RunAsync(
            () => new AdaptiveRun(output, errors).RunAsync(parsed.GetValue(seeds), parsed.GetValue(filter) ?? [], parsed.GetValue(page), token)));
        return command;
    }
}

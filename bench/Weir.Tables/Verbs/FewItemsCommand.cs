using Weir.Tables.FewItems;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>few-items</c>.</summary>
internal static class FewItemsCommand
{
    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<string[]> filter = SuiteOptions.Names(
            "--filter", "Which cells, by their items, work, source and limit, such as 5/block-1ms/*/8 or */yield/*. Without it, all.");
        Option<int> rounds = SuiteOptions.Rounds("How often each arm of a cell is measured, at most.", 15, 3, 1000);
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/few-items.md. Its notes are kept.");
        Command command = new(FewItemsRun.Verb, "Measures runs of few items. Beside Parallel.ForEachAsync, in turns in one process.")
        {
            filter, rounds, page,
        };
        command.SetAction((parsed, token) => TableCommand.RunAsync(
            () => new FewItemsRun(output, errors).RunAsync(parsed.GetValue(rounds), parsed.GetValue(filter) ?? [], parsed.GetValue(page), token)));
        return command;
    }
}

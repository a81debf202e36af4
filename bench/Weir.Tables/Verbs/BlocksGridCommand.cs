using Weir.Tables.BlocksGrid;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>blocks-grid</c>.</summary>
internal static class BlocksGridCommand
{
    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<string[]> filter = SuiteOptions.Names(
            "--filter", "Which cells, by their block, options and messages, such as Join*/not-greedy/* or */bound-1/*. Without it, all.");
        Option<int> rounds = SuiteOptions.Rounds("How often each arm of a cell is measured.", 7, 3, 1000);
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/dataflow-grid.md. Its notes are kept.");
        Option<FileInfo?> blocks = new("--blocks")
        {
            Description = "The page of blocks, docs/results/dataflow.md, whose section of the grid gets the worst and the best rows.",
        };
        Command command = new(BlocksGridRun.Verb, "Measures all blocks with all options. Beside the platform's and channels by hand, in turns, in one process.")
        {
            filter, rounds, page, blocks,
        };
        command.SetAction((parsed, token) => TableCommand.RunAsync(() => new BlocksGridRun(output, errors).RunAsync(
            parsed.GetValue(rounds), parsed.GetValue(filter) ?? [], parsed.GetValue(page), parsed.GetValue(blocks), token)));
        return command;
    }
}

using Weir.Cli.Kit.App;
using Weir.Tables.Auto;
using Weir.Tables.Blocking;
using Weir.Tables.Commands;
using Weir.Tables.Jobs;
using Weir.Tables.Peers;
using Weir.Tables.Servers;
using Weir.Tables.Verbs;

namespace Weir.Tables.App;

/// <summary>The program that <c>eng/tables</c> starts: it makes the tables of docs/results.</summary>
internal static class TablesApp
{
    public const string Name = "eng/tables";

    /// <summary>
    /// Runs a verb. A process that was started for one measurement is answered first: the compilation of code that has run before is not measured.
    /// </summary>
    public static Task<int> RunAsync(IReadOnlyList<string> args, CliHost host) => args switch
    {
        [WarmUpRun.Verb, WarmUpRun.Arm, var arm] => WarmUpRun.MeasureHereAsync(arm, host.Out),
        [BlockingRun.Verb, WarmUpRun.Arm, var arm] => BlockingRun.MeasureHereAsync(arm, host.Out),
        _ => CliApp.RunAsync(Root(host), args, host),
    };

    /// <summary>Parses the arguments without running the command.</summary>
    public static ParseResult Parse(IReadOnlyList<string> args, CliHost host) => CliApp.Parse(Root(host), args);

    private static Command Root(CliHost host) => CliApp.Root(
        Name,
        "Makes the tables of docs/results: Weir beside its peers.",
        [
            RatiosCommand.Create(host.Out, host.Error),
            TableCommand.Create(
                new Command(WarmUpRun.Verb, "Measures the first calls of a process. Their code was compiled a moment ago. Each measurement in a process of "
                    + "its own."),
                SuiteOptions.Rounds("How many processes each arm is measured in.", 5, 1, 100),
                "Which work, by its name on the page. Without it, all.",
                "The page to write, such as docs/results/warm-up.md. Its notes are kept.",
                new WarmUpRun(host.Out, host.Error, typeof(TablesApp).Assembly).RunAsync),
            TableCommand.Create(
                new Command(ColdRun.Verb, "Measures the first call of a process. The process has nothing else in it, and Weir is plain IL or compiled ahead of "
                    + "time. Each measurement in a process of its own."),
                SuiteOptions.Rounds("How many processes each arm of each build is measured in.", 7, 1, 100),
                "Which work, by its name on the page. Without it, all.",
                "The page to write, such as docs/results/cold-start.md. Its notes are kept.",
                new ColdRun(host.Out, host.Error).RunAsync),
            TableCommand.Create(
                new Command(BlockingRun.Verb, "Measures calls that block their thread. Beside Parallel.ForEachAsync and the platform's block. Each "
                    + "measurement in a process of its own."),
                SuiteOptions.Rounds("How many processes each arm is measured in.", 5, 1, 100),
                "Which tables, by their names on the page, in lower case. Without it, all, of about 7 minutes a round.",
                "The page to write, such as docs/results/blocking.md. Its notes are kept.",
                new BlockingRun(host.Out, host.Error, typeof(TablesApp).Assembly).RunAsync),
            TableCommand.Create(
                new Command("auto-table", "Measures the auto runtime and the others. On each kind of work, in turns."),
                SuiteOptions.Rounds("How often each arm is measured.", 9, 1, 1000),
                "Which workloads, by their names on the page or in the catalogue. Without it, those of the page.",
                "The page to write, such as docs/results/auto.md.",
                new AutoRun(host.Out, host.Error).RunAsync),
            BlocksGridCommand.Create(host.Out, host.Error),
            FewItemsCommand.Create(host.Out, host.Error),
            DashboardCommand.Create(host.Out, host.Error),
            AdaptiveCommand.Create(host.Out, host.Error),
            OverloadCommand.Create(host.Out, host.Error),
            OfCommands(host, CommandPage.Load, "Measures weir load with 50 million items. About 16 minutes, 7 of them for the peers."),
            OfCommands(host, CommandPage.Hash, "Measures weir hash with many workers. Makes 512 files of 16 MiB in artifacts/hash."),
            ComparedCommand.Create(host.Out, host.Error),
            SelfCheckCommand.Create(host.Out, host.Error),
            GoalsCommand.Create(host.Error),
            FiguresCommand.Create(host),
            QueuesCommand.Create(host),
            JobsCommand.Create(host),
        ]);

    private static Command OfCommands(CliHost host, CommandPage page, string description) => TableCommand.Create(
        new Command(page.Verb, description),
        SuiteOptions.Rounds($"What {page.Often} of the command is.", page.Usual, 1, 1000),
        $"Which sections: {string.Join(", ", page.Sections.Select(static s => s.Name))}. Without it, all.",
        $"The page to write, such as docs/results/{page.Page}.md. Its notes and the sections that are not measured are kept.",
        new CommandPageRun(host, page).RunAsync);
}

using Weir.Delivery.Cli.Commands.Cdc;
using Weir.Delivery.Cli.Commands.Work;

namespace Weir.Delivery.Cli.App;

/// <summary>The <c>weir-work</c> program: queues and changes of tables from the command line.</summary>
internal static class WorkApp
{
    public const string Name = "weir-work";

    public static Task<int> RunAsync(IReadOnlyList<string> args, WorkCliHost host) => CliApp.RunAsync(Root(host), args, host);

    /// <summary>Parses the arguments without running the command.</summary>
    public static ParseResult Parse(IReadOnlyList<string> args, WorkCliHost host) => CliApp.Parse(Root(host), args);

    private static Command Root(WorkCliHost host) => CliApp.Root(
        Name,
        "Publishes work to queues and runs it, and reads the changes of tables.",
        [
            WorkCommands.Setup(host),
            WorkCommands.Publish(host),
            RunCommands.Create(host),
            StatsCommand.Create(host),
            ItemCommands.List(host),
            ItemCommands.Find(host),
            ItemCommands.Cancel(host),
            DeadCommands.Create(host),
            CdcCommand.Create(host),
        ]);
}

using System.CommandLine;
using Weir.Cli.Commands.Audit.Report;
using Weir.Cli.Hosting;
using Weir.Cli.Progress;
using Weir.Cli.Report.Output;
using Weir.Lab.Results;

namespace Weir.Cli.Commands.Audit;

/// <summary>The <c>audit</c> command: kills and cuts off participants while numbered changes flow through a queue, and checks what came of them.</summary>
internal static class AuditCommand
{
    public static Command Create(CliHost host)
    {
        AuditOptionSet options = new();
        Command command = new(
            "audit",
            "Kills, restarts, cuts off and stalls a publisher, workers and the server of a queue while numbered changes flow through it into a table, and "
                + "checks after each round that nothing was lost, applied twice or out of order.");
        options.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            AuditSettings settings = options.Read(parsed, host.Variable);
            AuditReport report = await RunProgress.RunAsync(host, settings.Quiet, p => new AuditRun(settings, p).RunAsync(host.Stop)).ConfigureAwait(false);
            return Write(report, settings, host);
        });
        return command;
    }

    private static int Write(AuditReport report, AuditSettings settings, CliHost host)
    {
        if (settings.Json)
        {
            host.Out.WriteLine(System.Text.Json.JsonSerializer.Serialize(report, ResultJson.Indented));
        }
        else
        {
            AuditText.Of(report).Write(host.Out, host.Style);
        }

        if (settings.Page is { } page && report.Rounds.Count > 0)
        {
            ResultOutput.WriteFile(page.FullName, AuditPage.Render(report));
        }

        if (report.IsBroken)
        {
            host.Error.WriteLine("weir: the audit found a broken promise; the report says which.");
            return ExitCode.Broken;
        }

        if (report.Partial)
        {
            host.Error.WriteLine("weir: stopped; the completed rounds are reported as partial.");
            return ExitCode.Interrupted;
        }

        return ExitCode.Success;
    }
}

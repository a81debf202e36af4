using Weir.Audit.Report;

namespace Weir.Audit;

/// <summary>The <c>run</c> command: kills and cuts off participants while numbered changes flow through a queue, and checks what came of them.</summary>
internal static class AuditCommand
{
    public static Command Create(CliHost host)
    {
        AuditOptionSet options = new();
        Command command = new(
            "run",
            "Kills parts of a queue, and checks what came. A publisher, workers and the server are killed, restarted, cut off and stalled while numbered "
                + "changes flow through it into a table; after each round nothing may be lost, applied twice or out of order.");
        options.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            AuditSettings settings = options.Read(parsed, host.Variable);
            AuditReport report = await RunProgress.RunAsync(host, settings.Quiet, p => new AuditRun(settings, p).RunAsync(host.Stop));
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
            host.Say("the audit found a broken promise; the report says which.");
            return ExitCode.Broken;
        }

        if (report.Partial)
        {
            host.Say("stopped; the completed rounds are reported as partial.");
            return ExitCode.Interrupted;
        }

        return ExitCode.Success;
    }
}

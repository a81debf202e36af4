using System.CommandLine;
using System.Text.Json;
using System.Text.Json.Nodes;
using Weir.Cli.Hosting;
using Weir.Cli.Progress;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;

namespace Weir.Cli.Doctor;

/// <summary>The <c>doctor</c> command: says what this machine can measure, and how finely.</summary>
internal static class DoctorCommand
{
    public static Command Create(CliHost host)
    {
        Option<bool> json = new("--json") { Description = "Print JSON and nothing else" };
        Option<bool> quiet = new("--quiet") { Description = "No progress" };
        Option<bool> strict = new("--strict") { Description = "Exit code 4 when there is a doubt" };
        Command command = new("doctor", "Looks at the environment, the timer, the noise of the machine and the control over its page cache, before one measures. Takes about 20 seconds.") { json, quiet, strict };
        command.SetAction(async (parsed, _) =>
        {
            MachineRecord machine = MachineRecord.Read();
            IReadOnlyList<Check> checks = await RunProgress.RunAsync(host, parsed.GetValue(quiet), p => Checks.AllAsync(host, p)).ConfigureAwait(false);
            if (parsed.GetValue(json))
            {
                host.Out.WriteLine(new JsonObject
                {
                    ["format"] = "weir-doctor",
                    ["machine"] = JsonSerializer.SerializeToNode(machine, ResultJson.Indented),
                    ["checks"] = JsonSerializer.SerializeToNode(checks, ResultJson.Indented),
                }.ToJsonString(ResultJson.Indented));
            }
            else
            {
                host.Out.WriteLine(ResultText.Machine(machine));
                foreach ((string name, string value) in machine.Variables)
                {
                    host.Out.WriteLine($"{name}={value}");
                }

                int width = checks.Max(static c => c.Name.Length);
                foreach (Check check in checks)
                {
                    host.Out.WriteLine($"{(check.Level == FindingLevel.Note ? "ok" : "! "),-3}{check.Name.PadRight(width)}  {check.Value}{(check.Advice is null ? "" : $". {check.Advice}")}");
                }
            }

            return parsed.GetValue(strict) && checks.Any(static c => c.Level != FindingLevel.Note) ? ExitCode.Inconclusive : ExitCode.Success;
        });
        return command;
    }
}

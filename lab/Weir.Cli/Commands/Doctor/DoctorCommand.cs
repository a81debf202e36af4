using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.Doctor;

/// <summary>The <c>doctor</c> command: reports what this machine can measure, and how precisely.</summary>
internal static class DoctorCommand
{
    public static Command Create(WeirHost host)
    {
        OutputOptionSet outputs = new();
        Command command = new("doctor", "Checks whether this machine can measure. Its environment, timer and noise, and the control over its page cache. Takes "
            + "about 15 seconds, and longer on a busy machine.");
        outputs.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            OutputSettings output = outputs.Read(parsed);
            string[] arguments = [.. parsed.Tokens.Select(static t => t.Value)];
            (IReadOnlyList<Check> checks, ResultFile same) = await RunProgress.RunAsync(host, output.Quiet, p => Checks.AllAsync(host, arguments, p));
            ResultFile result = Result(checks, same);
            if (output.Json)
            {
                host.Out.WriteLine(ResultJson.Write(result));
            }
            else
            {
                Write(checks, result.Machine, host.Out);
            }

            return ResultOutput.ExportWithCode(result, output, host);
        });
        return command;
    }

    /// <summary>
    /// The comparison of the same thing with itself, together with all checks: the values as settings, the doubts as findings.
    /// </summary>
    internal static ResultFile Result(IReadOnlyList<Check> checks, ResultFile same) => same with
    {
        Work = "this machine, and the same work against itself",
        Settings = checks.ToDictionary(static c => c.Name, static c => c.Value),
        Findings =
        [
            .. same.Findings.Where(static f => f.Level != FindingLevel.Invalid),
            .. checks.Where(static c => c.Level != FindingLevel.Note)
                .Select(static c => new Finding(c.Level, $"{c.Name}: {c.Value}.{(c.Advice is null ? "" : $" {c.Advice}.")}")),
        ],
    };

    private static void Write(IReadOnlyList<Check> checks, MachineRecord machine, TextWriter output)
    {
        output.WriteLine(ResultText.Machine(machine));
        foreach ((string name, string value) in machine.Variables)
        {
            output.WriteLine($"{name}={value}");
        }

        int width = checks.Max(static c => c.Name.Length);
        foreach (Check check in checks)
        {
            output.WriteLine($"{(check.Level == FindingLevel.Note ? "ok" : "! "),-3}{check.Name.PadRight(width)}  "
                + $"{check.Value}{(check.Advice is null ? "" : $". {check.Advice}")}");
        }
    }
}

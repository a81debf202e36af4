using System.CommandLine;
using System.Text.Json;
using Weir.Cli.Hosting;
using Weir.Cli.Output;
using Weir.Cli.Results;
using Weir.Cli.Results.Writing;
using Weir.Cli.Settings;

namespace Weir.Cli.Compare;

/// <summary>The <c>baseline</c> command: keeps results under a name, and checks later ones against them, for builds.</summary>
internal static class BaselineCommand
{
    private static readonly Dictionary<string, bool> FailWords = new(StringComparer.OrdinalIgnoreCase) { ["slower"] = false, ["inconclusive"] = true };

    public static Command Create(CliHost host) => new("baseline", "Keeps results under a name, and checks later ones against them.")
    {
        Save(host),
        List(host),
        Check(host),
    };

    private static Command Save(CliHost host)
    {
        Argument<string> name = new("NAME") { Description = "The name" };
        Argument<string> file = new("FILE") { Description = "A result file (--export json)" };
        Setting directory = CompareCommand.DirectorySetting();
        Command command = new("save", "Keeps a result under a name; one of the same name is replaced.") { name, file, directory.Flag };
        command.SetAction((parsed, _) =>
        {
            ResultFile result = ResultJson.Read(parsed.GetRequiredValue(file));
            if (result.Partial || result.Has(FindingLevel.Invalid))
            {
                throw new BadInputException($"FILE must be a complete and valid result; '{parsed.GetRequiredValue(file)}' is {(result.Partial ? "partial" : "invalid")}.");
            }

            host.Out.WriteLine($"wrote {CompareCommand.StoreOf(directory, parsed).Save(parsed.GetRequiredValue(name), result)}");
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static Command List(CliHost host)
    {
        Setting directory = CompareCommand.DirectorySetting();
        Option<bool> json = new("--json") { Description = "Print the names and their results in JSON, and nothing else" };
        Command command = new("list", "Lists the baselines.") { directory.Flag, json };
        command.SetAction((parsed, _) =>
        {
            BaselineStore store = CompareCommand.StoreOf(directory, parsed);
            (string Name, ResultFile Result)[] baselines = [.. store.Names().Select(n => (n, store.Load(n)))];
            if (parsed.GetValue(json))
            {
                host.Out.WriteLine(JsonSerializer.Serialize(baselines.ToDictionary(static b => b.Name, static b => b.Result), ResultJson.Indented));
                return Task.FromResult(ExitCode.Success);
            }

            foreach ((string name, ResultFile result) in baselines)
            {
                host.Out.WriteLine($"{name}  {result.StartedAt:yyyy-MM-dd HH:mm}  weir {string.Join(' ', result.Arguments.Select(ResultMarkdown.Quoted))}  {Numbers.Grouped(result.Arms.Count)} arms, environment {result.Machine.Hash}");
            }

            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static Command Check(CliHost host)
    {
        Argument<string> name = new("NAME") { Description = "The baseline" };
        Argument<string?> file = new("FILE") { Description = "The result to check. Absent: what was measured for the baseline is measured again", Arity = ArgumentArity.ZeroOrOne };
        CompareOptionSet compare = new();
        Setting directory = CompareCommand.DirectorySetting();
        Setting failOn = Setting.Of("--fail-on", null, "WHAT", "slower (exit code 2), or inconclusive (exit code 4 as well). Default slower");
        Setting most = Setting.Of("--max-regression", null, "SHARE", "How much slower is allowed: 5% or 0.05. Default: the margin");
        OutputOptionSet outputs = new();
        Command command = new("check", "Compares a result with a baseline. Exit code 2 when it is slower than allowed.") { name, file };
        compare.AddTo(command);
        command.Add(directory.Flag);
        command.Add(failOn.Flag);
        command.Add(most.Flag);
        outputs.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            OutputSettings output = outputs.Read(parsed, "compare");
            Lab.Statistics.ComparisonOptions options = compare.Read(parsed);
            if (most.Find(parsed, static _ => null) is { } allowed)
            {
                options = options with { Margin = allowed.Share(0.0001, 0.9) };
            }

            bool strict = failOn.Find(parsed, static _ => null)?.OneOf(FailWords) ?? output.Strict;
            string baseline = parsed.GetRequiredValue(name);
            ResultFile before = CompareCommand.StoreOf(directory, parsed).Load(baseline);
            ResultFile? after = parsed.GetValue(file) is { } path ? ResultJson.Read(path) : await AgainAsync(before, output, host).ConfigureAwait(false);
            if (after is null)
            {
                return ExitCode.Interrupted;
            }

            ResultFile result = ResultComparing.Compare(("@" + baseline, before), ("now", after), options, compare.Across(parsed), [.. parsed.Tokens.Select(static t => t.Value)]);
            int code = ResultOutput.Write(result, output with { Strict = false }, host);
            return code != ExitCode.Success ? code
                : result.Comparisons.Any(static c => c.Verdict == "SLOWER") ? ExitCode.Regression
                : strict && result.Comparisons.Any(static c => c.Verdict == "INCONCLUSIVE") ? ExitCode.Inconclusive
                : ExitCode.Success;
        });
        return command;
    }

    // By the command itself, with its result taken from a file, so that it is the same measurement in every respect. Nothing when it was stopped before there was anything to compare; it has said so.
    private static async Task<ResultFile?> AgainAsync(ResultFile before, OutputSettings output, CliHost host)
    {
        string directory = Directory.CreateTempSubdirectory("weir-").FullName;
        try
        {
            string[] arguments = [.. Without(before.Arguments, ["--export", "--out"], ["--json", "--quiet", "--strict"]), "--export", "json", "--out", directory, .. output.Quiet ? ["--quiet"] : Array.Empty<string>()];
            int code = await WeirApp.RunAsync(arguments, host with { Out = TextWriter.Null, OutIsTerminal = false }).ConfigureAwait(false);
            string path = Path.Combine(directory, $"weir-{before.Command}.json");
            ResultFile? again = File.Exists(path) ? ResultJson.Read(path) : null;
            if (host.Stop.IsCancellationRequested && again?.Arms.Any(static a => a.IsMeasured) != true)
            {
                return null;
            }

            return again ?? throw new BadInputException($"The baseline could not be measured again (exit code {code}).");
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    private static IEnumerable<string> Without(IReadOnlyList<string> arguments, string[] valued, string[] switches)
    {
        for (int i = 0; i < arguments.Count; i++)
        {
            if (valued.Contains(arguments[i]))
            {
                i++;
            }
            else if (!switches.Contains(arguments[i]))
            {
                yield return arguments[i];
            }
        }
    }
}

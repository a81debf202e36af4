using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.Baseline;

/// <summary>The <c>baseline</c> command: stores results under a name, and checks later results against them, for builds.</summary>
internal static class BaselineCommand
{
    private static readonly Dictionary<string, bool> FailWords = new(StringComparer.OrdinalIgnoreCase) { ["slower"] = false, ["inconclusive"] = true };

    /// <summary>Creates the command.</summary>
    /// <param name="host">The environment of the command.</param>
    /// <param name="run">Runs a command of this program, to repeat the measurement of a baseline.</param>
    public static Command Create(WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run) =>
        new("baseline", "Keeps results by name, and checks later ones.")
    {
        Save(host),
        List(host),
        Check(host, run),
    };

    private static Command Save(WeirHost host)
    {
        Argument<string> name = new("NAME") { Description = "The name" };
        Argument<string> file = new("FILE") { Description = "A result file (--export json)" };
        BaselineOption directory = new();
        Command command = new("save", "Keeps a result under a name. It replaces a result of the same name.") { name, file, directory.Flag };
        command.SetAction((parsed, _) =>
        {
            ResultFile result = ResultJson.Read(parsed.GetRequiredValue(file));
            if (result.Partial || result.Has(FindingLevel.Invalid))
            {
                throw new BadInputException(
                    $"FILE must be a complete and valid result; '{parsed.GetRequiredValue(file)}' is {(result.Partial ? "partial" : "invalid")}.");
            }

            host.Out.WriteLine($"wrote {directory.Store(parsed).Save(parsed.GetRequiredValue(name), result)}");
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static Command List(WeirHost host)
    {
        BaselineOption directory = new();
        Option<bool> json = new("--json") { Description = "Print only the names and their results, as JSON" };
        Command command = new("list", "Lists the baselines.") { directory.Flag, json };
        command.SetAction((parsed, _) =>
        {
            BaselineStore store = directory.Store(parsed);
            (string Name, ResultFile Result)[] baselines = [.. store.Names().Select(n => (n, store.Load(n)))];
            if (parsed.GetValue(json))
            {
                host.Out.WriteLine(JsonSerializer.Serialize(baselines.ToDictionary(static b => b.Name, static b => b.Result), ResultJson.Indented));
                return Task.FromResult(ExitCode.Success);
            }

            foreach ((string name, ResultFile result) in baselines)
            {
                host.Out.WriteLine($"{name}  {result.StartedAt:yyyy-MM-dd HH:mm}  weir {string.Join(' ', result.Arguments.Select(ResultMarkdown.Quoted))}  "
                    + $"{Numbers.Grouped(result.Arms.Count)} arms, environment {result.Machine.Hash}");
            }

            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    private static Command Check(WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run)
    {
        Argument<string> name = new("NAME") { Description = "The baseline" };
        Argument<string?> file =
            new("FILE") { Description = "The result to check. If absent, the baseline's measurement is repeated", Arity = ArgumentArity.ZeroOrOne };
        CompareOptionSet compare = new();
        BaselineOption directory = new();
        TextOption failOn = TextOption.Of("--fail-on", null, "WHAT", "slower (exit code 2), or inconclusive (exit code 4 as well). Default slower");
        TextOption most = TextOption.Of("--max-regression", null, "SHARE", "How much slower is allowed: 5% or 0.05. Default: the margin");
        PullRequestOptionSet reviews = new();
        OutputOptionSet outputs = new();
        KeepOption keep = new();
        Command command = new("check", "Compares a result with a baseline. Exit code 2 if it is slower than allowed, or allocates more.") { name, file };
        compare.AddTo(command);
        command.AddAll(directory.Flag, failOn, most);
        reviews.AddTo(command);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            OutputSettings output = outputs.Read(parsed, "compare");
            string? summary = reviews.File(parsed);
            Lab.Statistics.ComparisonOptions options = compare.Read(parsed);
            if (most.Find(parsed) is { } allowed)
            {
                options = options with { Margin = allowed.Share(0.0001, 0.9) };
            }

            bool strict = failOn.Find(parsed)?.OneOf(FailWords) ?? output.Strict;
            string baseline = parsed.GetRequiredValue(name);
            ResultFile before = directory.Store(parsed).Load(baseline);
            if (parsed.GetValue(file) is not null && keep.Read(parsed, host))
            {
                throw new BadInputException("--keep is for what is measured now; a stored result is kept with 'weir history add FILE'.");
            }

            ResultFile? after = parsed.GetValue(file) is { } path
                ? ResultJson.Read(path)
                : await AgainAsync(before, output, keep.Read(parsed, host) ? keep.Arguments(parsed) : [], host, run);
            if (after is null)
            {
                return ExitCode.Interrupted;
            }

            ResultFile result = ResultComparing.Compare(
                ("@" + baseline, before), ("now", after), options, compare.Across(parsed), [.. parsed.Tokens.Select(static t => t.Value)]);
            int code = reviews.Write(parsed, summary, result, ResultOutput.Write(result, output with { Strict = false }, host), host);
            return code != ExitCode.Success ? code
                : strict && result.Comparisons.Any(static c => c.Verdict == Verdict.Inconclusive) ? ExitCode.Inconclusive
                : ExitCode.Success;
        });
        return command;
    }

    // The command itself runs, and its result is read from a file, so that the measurement is the same in every respect. There is no result if it was stopped
    // before there was anything to compare; it has reported that.
    private static async Task<ResultFile?> AgainAsync(
        ResultFile before, OutputSettings output, IReadOnlyList<string> keep, WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run)
    {
        string directory = Directory.CreateTempSubdirectory("weir-").FullName;
        try
        {
            string[] arguments = [.. Without(before.Arguments, ["--export", "--out", "--keep-in", Threshold.Flag], ["--json", "--quiet", "--strict", "--keep",
                "--profile"]), .. keep, "--export", "json", "--out", directory, .. output.Quiet ? ["--quiet"] : Array.Empty<string>()];
            int code = await run(arguments, host with { Out = TextWriter.Null, OutIsTerminal = false });
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

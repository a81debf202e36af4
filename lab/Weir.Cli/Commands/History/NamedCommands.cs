namespace Weir.Cli.Commands.History;

/// <summary>The commands <c>history save</c> and <c>history check</c>: keep a result under a name, and check later results against it, for builds.</summary>
internal static class NamedCommands
{
    public static Command Save(HistoryOption directory, WeirHost host)
    {
        Argument<string> name = new("NAME") { Description = "The name" };
        Argument<string> file = new("FILE") { Description = "A result file (--export json)" };
        Command command = new("save", "Keeps a result under a name. It replaces a result of the same name.") { name, file };
        command.SetAction((parsed, _) =>
        {
            string path = parsed.GetRequiredValue(file);
            ResultFile result = ResultJson.Read(path);
            if (HistoryStore.FindProblemOfAny(result) is { } why)
            {
                throw new BadInputException($"'{path}' cannot be kept: {why}.");
            }

            host.Out.WriteLine($"kept {directory.Store(parsed).Save(parsed.GetRequiredValue(name), result)}");
            return Task.FromResult(ExitCode.Success);
        });
        return command;
    }

    // "run" runs a command of this program, to repeat a measurement.
    public static Command Check(HistoryOption directory, WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run)
    {
        Argument<string> name = new("NAME") { Description = "The name that it is compared with" };
        Argument<string?> file =
            new("FILE") { Description = "The result to check. If absent, what has the name is measured again", Arity = ArgumentArity.ZeroOrOne };
        CompareOptionSet compare = new();
        FailOnOption failOn = new("slower");
        TextOption most = TextOption.Of("--max-regression", null, "SHARE", "How much slower is allowed: 5% or 0.05. Default: the margin");
        PullRequestOptionSet reviews = new();
        OutputOptionSet outputs = new();
        KeepOption keep = new();
        Command command = new("check", "Compares a result with one that has a name. Exit code 2 if it is slower than allowed, or allocates more.")
        {
            name, file,
        };
        compare.AddTo(command);
        command.AddAll(failOn.Flag, most);
        reviews.AddTo(command);
        outputs.AddTo(command);
        keep.AddTo(command);
        command.SetAction(async (parsed, _) =>
        {
            OutputSettings output = outputs.Read(parsed, "compare");
            string? summary = reviews.File(parsed);
            ComparisonOptions options = compare.Read(parsed);
            if (most.Find(parsed) is { } allowed)
            {
                options = options with { Margin = allowed.Share(0.0001, 0.9) };
            }

            bool strict = failOn.IsStrict(parsed) ?? output.Strict;
            string against = parsed.GetRequiredValue(name);
            ResultFile before = directory.Store(parsed).Named(against);
            if (parsed.GetValue(file) is not null && keep.Read(parsed, host))
            {
                throw new BadInputException("--keep is for what is measured now; a stored result is kept with 'weir history add FILE'.");
            }

            ResultFile? after = parsed.GetValue(file) is { } path
                ? ResultJson.Read(path)
                : await AgainAsync(against, before, output, keep.Read(parsed, host) ? keep.Arguments(parsed) : [], host, run);
            if (after is null)
            {
                return ExitCode.Interrupted;
            }

            ResultFile result = ResultComparing.Compare(
                ("@" + against, before), ("now", after), options, compare.Across(parsed), [.. parsed.Tokens.Select(static t => t.Value)]);
            return FailOnOption.Code(
                reviews.Write(parsed, summary, result, ResultOutput.Write(result, output with { Strict = false }, host), host), result, strict);
        });
        return command;
    }

    // The command itself runs, and its result is read from a file, so that the measurement is the same in every respect. There is no result if it was stopped
    // before there was anything to compare; it has reported that.
    private static async Task<ResultFile?> AgainAsync(
        string name, ResultFile before, OutputSettings output, IReadOnlyList<string> keep, WeirHost host, Func<IReadOnlyList<string>, WeirHost, Task<int>> run)
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

            return again ?? throw new BadInputException($"'@{name}' could not be measured again (exit code {code}).");
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

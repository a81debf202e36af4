using System.CommandLine;

namespace Weir.Lab.Suites.Young;

/// <summary>The command line of <c>young</c>.</summary>
internal static class YoungCommand
{
    public const string Name = "young";

    private const int MostRounds = 100;

    public static RootCommand Create()
    {
        Option<int> rounds = new("--rounds")
        {
            Description = "How many processes each arm is measured in. Default 5.",
            DefaultValueFactory = static _ => 5,
        };
        rounds.Validators.Add(static result =>
        {
            // What is no number at all is reported by the parser.
            if (result.Tokens is [{ Value: var text }] && int.TryParse(text, out int value) && value is < 1 or > MostRounds)
            {
                result.AddError($"--rounds must be a whole number from 1 to {MostRounds:N0}.");
            }
        });
        Option<string[]> only = new("--only")
        {
            Description = "Which work, by its name on the page. Without it, all.",
            AllowMultipleArgumentsPerToken = true,
            DefaultValueFactory = static _ => [],
        };
        Option<FileInfo?> output = new("--output") { Description = "The page to write, such as docs/results/young.md. Its notes are kept." };
        Option<string?> arm = new("--arm") { Description = "Measures this arm in this process, once, and prints nanoseconds: what the command starts for each measurement.", Hidden = true };
        RootCommand root = new("The suites of Weir. Anything else than the command below is an argument for BenchmarkDotNet.");
        Command young = new(Name, "Measures the first calls of a process: code that was compiled a moment ago. Each measurement in a process of its own.") { rounds, only, output, arm };
        young.SetAction((parsed, token) => Task.Run(
            () => parsed.GetValue(arm) is { } key
                ? YoungRun.MeasureHereAsync(key, Console.Out, Console.Error)
                : new YoungRun(Console.Out, Console.Error).RunAsync(parsed.GetValue(rounds), parsed.GetValue(only) ?? [], parsed.GetValue(output), token),
            token));
        root.Subcommands.Add(young);
        return root;
    }
}

using System.CommandLine;

namespace Weir.Lab.Suites.Auto;

/// <summary>The command line of <c>auto</c>.</summary>
internal static class AutoCommand
{
    public const string Name = "auto";

    private const int MostRounds = 1000;

    public static RootCommand Create()
    {
        Option<int> rounds = new("--rounds")
        {
            Description = "How often each arm is measured. Default 9.",
            DefaultValueFactory = static _ => 9,
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
            Description = "Which workloads, by their names on the page. Without it, all.",
            AllowMultipleArgumentsPerToken = true,
            DefaultValueFactory = static _ => [],
        };
        Option<FileInfo?> output = new("--output") { Description = "The page to write, such as docs/results/auto.md." };
        RootCommand root = new("The suites of Weir. Anything else than the command below is an argument for BenchmarkDotNet.");
        Command auto = new(Name, "Measures the auto runtime against each fixed runtime, on each kind of work, in turns.") { rounds, only, output };
        auto.SetAction((parsed, token) => Task.Run(
            () => new AutoRun(Console.Out, Console.Error).RunAsync(parsed.GetValue(rounds), parsed.GetValue(only) ?? [], parsed.GetValue(output), token), token));
        root.Subcommands.Add(auto);
        return root;
    }
}

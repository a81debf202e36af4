using System.CommandLine;
using Weir.Lab.Suites.SelfChecks;

namespace Weir.Lab.Suites.Ratios;

/// <summary>The command line of <c>ratios</c>.</summary>
internal static class RatiosCommand
{
    public const string Name = "ratios";

    public static RootCommand Create()
    {
        Option<string[]> filter = new("--filter")
        {
            Description = "Which suites, as BenchmarkDotNet's --filter. Without it, all but the published ones, which wait for minutes.",
            AllowMultipleArgumentsPerToken = true,
            DefaultValueFactory = static _ => [],
        };
        Option<int> rounds = new("--rounds")
        {
            Description = "How often each arm is measured; 0 only brings the page's frame up to date.",
            DefaultValueFactory = static _ => 9,
        };
        rounds.Validators.Add(static result =>
        {
            // What is no number at all is reported by the parser.
            if (result.Tokens is [{ Value: var text }] && int.TryParse(text, out int value) && value < 0)
            {
                result.AddError("--rounds must not be negative.");
            }
        });
        Option<FileInfo?> output = new("--output")
        {
            Description = "The page to bring up to date. Sections that are not measured, and notes, are kept.",
        };
        RootCommand root = new("The suites of Weir. Anything else than the commands below is an argument for BenchmarkDotNet.");
        Command ratios = new(Name, "Measures the arms of each case interleaved in one process and prints their ratios.") { filter, rounds, output };
        ratios.SetAction((parsed, _) => Task.Run(() =>
            new RatiosRun(Console.Out, Console.Error).RunAsync(parsed.GetValue(filter) ?? [], parsed.GetValue(rounds), parsed.GetValue(output))));
        root.Subcommands.Add(ratios);
        root.Subcommands.Add(SelfCheckCommand.Create());
        return root;
    }
}

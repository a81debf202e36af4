using System.CommandLine;

namespace Weir.Lab.Suites.Verbs;

/// <summary>The options that several of the commands have.</summary>
internal static class SuiteOptions
{
    /// <summary>How often something is measured.</summary>
    public static Option<int> Rounds(string description, int usual, int least, int most)
    {
        Option<int> rounds = new("--rounds")
        {
            Description = $"{description} Default {usual}.",
            DefaultValueFactory = _ => usual,
        };
        rounds.Validators.Add(result =>
        {
            // What is no number at all is reported by the parser.
            if (result.Tokens is [{ Value: var text }] && int.TryParse(text, out int value) && (value < least || value > most))
            {
                result.AddError($"--rounds must be a whole number from {least} to {most:N0}; it is {value}");
            }
        });
        return rounds;
    }

    /// <summary>Several names.</summary>
    public static Option<string[]> Names(string name, string description) => new(name)
    {
        Description = description,
        AllowMultipleArgumentsPerToken = true,
        DefaultValueFactory = static _ => [],
    };

    /// <summary>The page that is written.</summary>
    public static Option<FileInfo?> Output(string description) => new("--output") { Description = description };
}

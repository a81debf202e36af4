namespace Weir.Tables.Verbs;

/// <summary>The options that several of the commands have.</summary>
internal static class SuiteOptions
{
    /// <summary>How often something is measured.</summary>
    public static Option<int> Rounds(string description, int usual, int least, int most) => Number("--rounds", description, usual, least, most);

    /// <summary>A whole number.</summary>
    public static Option<int> Number(string name, string description, int usual, int least, int most)
    {
        Option<int> number = new(name)
        {
            Description = $"{description} Default {usual}.",
            DefaultValueFactory = _ => usual,
        };
        number.Validators.Add(result =>
        {
            // What is no number at all is reported by the parser.
            if (result.Tokens is [{ Value: var text }] && int.TryParse(text, out int value) && (value < least || value > most))
            {
                result.AddError($"{name} must be a whole number from {least} to {most:N0}; it is {value}");
            }
        });
        return number;
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

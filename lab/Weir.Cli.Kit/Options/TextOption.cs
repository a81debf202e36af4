namespace Weir.Cli.Kit.Options;

/// <summary>A setting that a flag gives, or an environment variable when the flag is absent.</summary>
internal sealed class TextOption : Option<string?>
{
    private readonly string? _variable;

    private TextOption(string flag, string? variable)
        : base(flag) => _variable = variable;

    /// <summary>Creates a setting.</summary>
    public static TextOption Of(string flag, string? variable, string value, string description) => new(flag, variable)
    {
        HelpName = value,
        Description = variable is null ? description : $"{description} [{variable}]",
    };

    /// <summary>The same setting, which the first help of a command does not show because it is rarely needed.</summary>
    public TextOption Rare()
    {
        Hidden = true;
        return this;
    }

    /// <summary>Finds the value. An empty variable counts as unset.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="variables">The environment; without it, only the flag counts.</param>
    /// <returns>The text and where it came from, or <see langword="null"/>.</returns>
    public OptionValue? Find(ParseResult parsed, Func<string, string?>? variables = null)
    {
        if (parsed.GetResult(this) is { Implicit: false })
        {
            return new OptionValue(Name, parsed.GetValue(this) ?? "");
        }

        return _variable is not null && variables?.Invoke(_variable) is { Length: > 0 } text ? new OptionValue(_variable, text) : null;
    }
}

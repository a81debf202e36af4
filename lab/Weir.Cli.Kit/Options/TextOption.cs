namespace Weir.Cli.Kit.Options;

/// <summary>A setting that a flag gives, or an environment variable when the flag is absent.</summary>
/// <param name="flag">The flag.</param>
/// <param name="variable">The variable; <see langword="null"/> when only the flag gives it.</param>
internal sealed class TextOption(Option<string?> flag, string? variable)
{
    /// <summary>The flag.</summary>
    public Option<string?> Flag => flag;

    /// <summary>Creates a setting.</summary>
    public static TextOption Of(string flag, string? variable, string value, string description) => new(
        new Option<string?>(flag)
        {
            HelpName = value,
            Description = variable is null ? description : $"{description} [{variable}]",
        },
        variable);

    /// <summary>The same setting, which the first help of a command does not show because it is rarely needed.</summary>
    public TextOption Rare()
    {
        flag.Hidden = true;
        return this;
    }

    /// <summary>Finds the value. An empty variable counts as unset.</summary>
    /// <returns>The text and where it came from, or <see langword="null"/>.</returns>
    public OptionValue? Find(ParseResult parsed, Func<string, string?> variables)
    {
        if (parsed.GetResult(flag) is { Implicit: false })
        {
            return new OptionValue(flag.Name, parsed.GetValue(flag) ?? "");
        }

        return variable is not null && variables(variable) is { Length: > 0 } text ? new OptionValue(variable, text) : null;
    }
}

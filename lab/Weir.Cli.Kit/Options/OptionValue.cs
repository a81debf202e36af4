using System.Globalization;

namespace Weir.Cli.Kit.Options;

/// <summary>A value as the user gave it.</summary>
/// <param name="Source">The flag or variable that it came from, for messages.</param>
/// <param name="Text">The text.</param>
internal sealed record OptionValue(string Source, string Text)
{
    private static readonly (string Unit, long Bytes)[] ByteUnits =
        [("KiB", 1L << 10), ("MiB", 1L << 20), ("GiB", 1L << 30), ("KB", 1L << 10), ("MB", 1L << 20), ("GB", 1L << 30), ("B", 1), ("", 1)];

    private static readonly (string Unit, double Seconds)[] TimeUnits = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("min", 60), ("s", 1)];

    // The platform's parser reads 1,2 as twelve. A list must not be accepted in place of one number.
    private bool HasWholeGroups => Text.Split(',').Skip(1).All(static group => group.Trim().Length == 3);

    /// <summary>A text that is not empty.</summary>
    /// <param name="what">What it must be, such as <c>a file</c>.</param>
    public string NotEmpty(string what) => Text.Length > 0 ? Text : throw Bad(what);

    public int WholeNumber(int min, int max) =>
        int.TryParse(Text, NumberStyles.AllowLeadingSign | NumberStyles.AllowThousands, CultureInfo.InvariantCulture, out int value)
        && HasWholeGroups && value >= min && value <= max
            ? value
            : throw Bad($"a whole number from {Numbers.Grouped(min)} to {Numbers.Grouped(max)}");

    public double Number(double min, double max, string what = "number") =>
        double.TryParse(Text, NumberStyles.Float, CultureInfo.InvariantCulture, out double value) && value >= min && value <= max
            ? value
            : throw Bad(FormattableString.Invariant($"a {what} from {min:0.#######} to {max:#,0.#######}"));

    /// <summary>A rate: a number, with <c>/s</c> behind it or without.</summary>
    public double PerSecond(double min, double max, string what)
    {
        string text = Text.EndsWith("/s", StringComparison.OrdinalIgnoreCase) ? Text[..^2] : Text;
        return double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double rate) && rate >= min && rate <= max
            ? rate
            : throw Bad(FormattableString.Invariant($"a number of {what} per second from {min:0.#} to {max:#,0} such as 1000/s"));
    }

    public bool Switch() => Text.ToLowerInvariant() switch
    {
        "1" or "true" or "yes" or "on" => true,
        "0" or "false" or "no" or "off" => false,
        _ => throw Bad("true or false"),
    };

    /// <summary>True or false; the bare flag means true.</summary>
    public bool FlagOrSwitch() => Text.Length == 0 || Switch();

    /// <summary>One of a few words.</summary>
    public T OneOf<T>(IReadOnlyDictionary<string, T> words) =>
        words.TryGetValue(Text, out T? value) ? value : throw Bad(Choice([.. words.Keys]));

    /// <summary>The values of an enumeration by their names in small letters.</summary>
    public static IReadOnlyDictionary<string, T> WordsOf<T>()
        where T : struct, Enum => Enum.GetValues<T>().ToDictionary(static v => v.ToString().ToLowerInvariant(), StringComparer.OrdinalIgnoreCase);

    /// <summary>Whole numbers between commas, each once.</summary>
    public IReadOnlyList<int> WholeNumbers(int min, int max)
    {
        List<int> values = [];
        foreach (string part in Text.Split(','))
        {
            if (!int.TryParse(part, NumberStyles.AllowLeadingWhite | NumberStyles.AllowTrailingWhite, CultureInfo.InvariantCulture, out int value)
                || value < min || value > max || values.Contains(value))
            {
                throw Bad($"different whole numbers from {Numbers.Grouped(min)} to {Numbers.Grouped(max)} separated by commas, such as 1,2,4");
            }

            values.Add(value);
        }

        return values;
    }

    /// <summary>A number of bytes: a number with a unit of 1,024, or without one.</summary>
    public long Bytes(long min, long max, string example = "16MiB")
    {
        foreach ((string unit, long factor) in ByteUnits)
        {
            if (Text.EndsWith(unit, StringComparison.OrdinalIgnoreCase)
                && double.TryParse(Text.AsSpan(0, Text.Length - unit.Length), NumberStyles.Float, CultureInfo.InvariantCulture, out double value))
            {
                double bytes = value * factor;
                return bytes >= min && bytes <= max ? (long)bytes : throw BadBytes(min, max, example);
            }
        }

        throw BadBytes(min, max, example);
    }

    /// <summary>A share: a number, or a percentage with a percent sign.</summary>
    public double Share(double min, double max)
    {
        bool percent = Text.EndsWith('%');
        return double.TryParse(percent ? Text.AsSpan(0, Text.Length - 1) : Text, NumberStyles.Float, CultureInfo.InvariantCulture, out double value)
            && (value /= percent ? 100 : 1) >= min && value <= max
            ? value
            : throw Bad(FormattableString.Invariant($"a share from {min * 100:0.####}% to {max * 100:0.####}% such as 3% or 0.03"));
    }

    /// <summary>A length of time: a number with a unit.</summary>
    public TimeSpan Time(TimeSpan min, TimeSpan max, string example)
    {
        foreach ((string unit, double seconds) in TimeUnits)
        {
            if (Text.EndsWith(unit, StringComparison.OrdinalIgnoreCase)
                && double.TryParse(Text.AsSpan(0, Text.Length - unit.Length), NumberStyles.Float, CultureInfo.InvariantCulture, out double value)
                && value * seconds >= min.TotalSeconds - 1e-12 && value * seconds <= max.TotalSeconds)
            {
                return TimeSpan.FromTicks((long)Math.Round(value * seconds * TimeSpan.TicksPerSecond));
            }
        }

        throw Bad($"a time from {Numbers.Time(min)} to {Numbers.Time(max)} such as {example}");
    }

    public BadInputException Bad(string allowed) => new($"{Source} must be {allowed}; it is '{Text}'.");

    private BadInputException BadBytes(long min, long max, string example) =>
        Bad($"a size from {Numbers.Bytes(min)} to {Numbers.Bytes(max)} such as {example}");

    private static string Choice(string[] words) => $"{string.Join(", ", words[..^1])} or {words[^1]}";
}

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

    /// <summary>Hides the option from the first help of a command, because it is rarely needed.</summary>
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

/// <summary>Adds options to a command.</summary>
internal static class CommandOptions
{
    /// <summary>Adds all of them, in the order of its help.</summary>
    public static void AddAll(this Command command, params IEnumerable<Option> options)
    {
        foreach (Option option in options)
        {
            command.Add(option);
        }
    }

    /// <summary>Leaves some of them out of the command's first help, because there they are rarely needed.</summary>
    public static void MakeRare(this Command command, params ReadOnlySpan<string> names)
    {
        foreach (string name in names)
        {
            command.Options.First(o => o.Name == name).Hidden = true;
        }
    }
}

/// <summary>Suggests names for a misspelled one.</summary>
internal static class NearestNames
{
    private const int Most = 3;

    /// <summary>The nearest names: first those that contain the given one, then those that differ in the fewest letters.</summary>
    public static IReadOnlyList<string> Of(string name, IEnumerable<string> names) =>
    [
        .. names
            .OrderBy(n => n.Contains(name, StringComparison.OrdinalIgnoreCase) ? 0 : 1)
            .ThenBy(n => Distance(name.ToUpperInvariant(), n.ToUpperInvariant()))
            .ThenBy(static n => n, StringComparer.Ordinal)
            .Take(Most),
    ];

    // The number of letters to insert, delete or change (Levenshtein).
    private static int Distance(string left, string right)
    {
        int[] row = [.. Enumerable.Range(0, right.Length + 1)];
        for (int i = 1; i <= left.Length; i++)
        {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.Length; j++)
            {
                int changed = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.Min(changed, 1 + Math.Min(row[j], row[j - 1]));
            }
        }

        return row[^1];
    }
}

using System.Globalization;
using Weir.Cli.Hosting;
using Weir.Cli.Output;

namespace Weir.Cli.Settings;

/// <summary>A value as the user gave it.</summary>
/// <param name="Source">The flag or variable that it came from, for messages.</param>
/// <param name="Text">The text.</param>
internal sealed record Given(string Source, string Text)
{
    public int WholeNumber(int min, int max) =>
        int.TryParse(Text, NumberStyles.AllowLeadingSign | NumberStyles.AllowThousands, CultureInfo.InvariantCulture, out int value)
        && value >= min && value <= max
            ? value
            : throw Bad($"a whole number from {Numbers.Grouped(min)} to {Numbers.Grouped(max)}");

    public double Number(double min, double max, string what = "number") =>
        double.TryParse(Text, NumberStyles.Float, CultureInfo.InvariantCulture, out double value) && value >= min && value <= max
            ? value
            : throw Bad(FormattableString.Invariant($"a {what} from {min:0.#######} to {max:#,0.#######}"));

    public bool Switch() => Text.ToLowerInvariant() switch
    {
        "1" or "true" or "yes" or "on" => true,
        "0" or "false" or "no" or "off" => false,
        _ => throw Bad("true or false"),
    };

    /// <summary>One of a few words.</summary>
    public T OneOf<T>(IReadOnlyDictionary<string, T> words) =>
        words.TryGetValue(Text, out T? value) ? value : throw Bad(Choice([.. words.Keys]));

    /// <summary>Whole numbers between commas, each once.</summary>
    public IReadOnlyList<int> WholeNumbers(int min, int max)
    {
        List<int> values = [];
        foreach (string part in Text.Split(','))
        {
            if (!int.TryParse(part, NumberStyles.AllowLeadingWhite | NumberStyles.AllowTrailingWhite, CultureInfo.InvariantCulture, out int value)
                || value < min || value > max || values.Contains(value))
            {
                throw Bad($"different whole numbers from {Numbers.Grouped(min)} to {Numbers.Grouped(max)} between commas, such as 1,2,4");
            }

            values.Add(value);
        }

        return values;
    }

    public BadInputException Bad(string allowed) => new($"{Source} must be {allowed}; it is '{Text}'.");

    private static string Choice(string[] words) => $"{string.Join(", ", words[..^1])} or {words[^1]}";
}

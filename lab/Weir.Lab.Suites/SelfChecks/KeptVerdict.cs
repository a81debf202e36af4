using System.Text.Json;

namespace Weir.Lab.Suites.SelfChecks;

/// <summary>What one <c>weir compare</c> came to, as it stands in its result file.</summary>
/// <param name="Name">FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE, or NONE when nothing could be compared.</param>
/// <param name="Ratio">The rate of the candidate as a multiple of the baseline's.</param>
/// <param name="Low">The lower end of its interval.</param>
/// <param name="High">The upper end.</param>
/// <param name="Looks">How often it was looked whether it is decided.</param>
/// <param name="Seconds">How long the command took.</param>
/// <param name="StartedAt">When it began.</param>
internal sealed record KeptVerdict(string Name, double Ratio, double Low, double High, int Looks, double Seconds, DateTimeOffset StartedAt)
{
    /// <summary>Reads the result in a folder.</summary>
    /// <param name="folder">The folder that the command was told to write to.</param>
    /// <param name="arguments">The arguments that the result must be of.</param>
    /// <returns>The result; <see langword="null"/> when there is none, or that of another command.</returns>
    public static KeptVerdict? Read(DirectoryInfo folder, IReadOnlyCollection<string> arguments)
    {
        string path = Path.Combine(folder.FullName, "weir-compare.json");
        if (!File.Exists(path))
        {
            return null;
        }

        using JsonDocument document = JsonDocument.Parse(File.ReadAllText(path));
        JsonElement result = document.RootElement;
        if (!result.GetProperty("arguments").EnumerateArray().Take(arguments.Count).Select(static a => a.GetString()).SequenceEqual(arguments))
        {
            return null;
        }

        double seconds = result.GetProperty("seconds").GetDouble();
        DateTimeOffset startedAt = result.GetProperty("started_at").GetDateTimeOffset();
        JsonElement comparisons = result.GetProperty("comparisons");
        if (comparisons.GetArrayLength() == 0)
        {
            return new KeptVerdict("NONE", double.NaN, double.NaN, double.NaN, 0, seconds, startedAt);
        }

        JsonElement comparison = comparisons[0];
        return new KeptVerdict(
            comparison.GetProperty("verdict").GetString()!, Number("ratio"), Number("low"), Number("high"), comparison.GetProperty("looks").GetInt32(), seconds, startedAt);

        // What is not finite stands there as a word.
        double Number(string name) => comparison.GetProperty(name) is { ValueKind: JsonValueKind.Number } number ? number.GetDouble() : double.PositiveInfinity;
    }
}

namespace Weir.Lab.Results;

/// <summary>Which settings two results differ in. Such results do not compare, unless the setting is what one wants to compare.</summary>
internal static class SettingDifferences
{
    // They say how often, how long and where it was measured, and which arms took part, not what: an arm's own size is its workers.
    private static readonly HashSet<string> OfTheMeasuring =
    [
        "rounds", "trials", "warmup", "duration", "isolate", "seed", "input", "knobs", "runtime", "sweep", "cdc_parallel_size", "cdc_concurrency",
        "peer_degree",
    ];

    /// <summary>Throws if there is a difference that is not allowed.</summary>
    /// <param name="before">Name, result and arm of one.</param>
    /// <param name="after">Name, result and arm of the other.</param>
    /// <param name="across">The settings that may differ.</param>
    /// <returns>The settings that do differ, as parts of a sentence.</returns>
    /// <exception cref="IncomparableResultsException">There is one.</exception>
    public static IReadOnlyList<string> Check(
        (string Name, ResultFile Result, ArmRecord Arm) before, (string Name, ResultFile Result, ArmRecord Arm) after, IReadOnlyList<string> across)
    {
        Dictionary<string, string> left = Of(before.Result, before.Arm);
        Dictionary<string, string> right = Of(after.Result, after.Arm);
        (string Parameter, string Text)[] different =
        [
            .. left.Keys.Union(right.Keys).Order(StringComparer.Ordinal)
                .Select(name => (name, Left: left.GetValueOrDefault(name, "absent"), Right: right.GetValueOrDefault(name, "absent")))
                .Where(static k => k.Left != k.Right)
                .Select(static k => (k.name, $"{k.name} ({k.Left} and {k.Right})")),
        ];
        string[] unasked = [.. different.Where(d => !across.Contains(d.Parameter)).Select(static d => d.Parameter)];
        return unasked.Length == 0
            ? [.. different.Select(static d => d.Text)]
            : throw new IncomparableResultsException(
                $"'{before.Name}' and '{after.Name}' differ in {string.Join(", ", different.Select(static d => d.Text))}.", unasked);
    }

    /// <summary>The settings of an arm that say what was measured, in one text.</summary>
    public static string Text(ResultFile result, ArmRecord arm) =>
        string.Join(", ", Of(result, arm).OrderBy(static s => s.Key, StringComparer.Ordinal).Select(static s => $"{s.Key}={s.Value}"));

    private static Dictionary<string, string> Of(ResultFile result, ArmRecord arm)
    {
        Dictionary<string, string> parameters = new(arm.Settings);
        foreach ((string name, string value) in result.Settings)
        {
            parameters.TryAdd(name, value);
        }

        foreach (string name in OfTheMeasuring)
        {
            parameters.Remove(name);
        }

        return parameters;
    }
}

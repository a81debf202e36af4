namespace Weir.Lab.Results;

/// <summary>How a run was done, as texts of a result: these decide whether two results may be compared.</summary>
internal static class SettingTexts
{
    /// <summary>The settings that all arms share.</summary>
    /// <param name="spec">The run of any of them.</param>
    /// <param name="rounds">How many rounds each was to make.</param>
    /// <param name="isolated">Whether each was measured in processes of its own.</param>
    public static Dictionary<string, string> Of(WorkerRunSpec spec, int rounds, bool isolated) => Given(
        ("duration", Numbers.Time(spec.Duration)),
        ("rounds", $"{rounds}"),
        ("isolate", isolated ? "process" : "none"),
        ("seed", $"{spec.Seed}"),
        ("groups", spec.Groups is [{ Name: WorkerRunSpec.DefaultGroup }] ? null : string.Join(',', spec.Groups.Select(static g => $"{g.Name}:{g.Workers}"))),
        ("rate", spec.RatePerSecond is { } rate ? FormattableString.Invariant($"{rate}/s") : null),
        ("max_inflight", spec.MaxInFlight is { } most ? $"{most}" : null),
        ("min_threads", spec.MinThreads is { } threads ? $"{threads}" : null));

    /// <summary>Those of some settings that are given.</summary>
    public static Dictionary<string, string> Given(params (string Name, string? Text)[] texts) =>
        texts.Where(static t => t.Text is not null).ToDictionary(static t => t.Name, static t => t.Text!);
}

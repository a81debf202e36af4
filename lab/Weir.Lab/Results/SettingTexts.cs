namespace Weir.Lab.Results;

/// <summary>How a run was done, as texts of a result: these decide whether two results may be compared.</summary>
internal static class SettingTexts
{
    /// <summary>The settings that all arms share.</summary>
    /// <param name="spec">The run of any of them.</param>
    /// <param name="rounds">How many rounds each was to make.</param>
    /// <param name="isolated">Whether each was measured in processes of its own.</param>
    public static Dictionary<string, string> Of(WorkerRunSpec spec, int rounds, bool isolated)
    {
        Dictionary<string, string> texts = new()
        {
            ["duration"] = Numbers.Time(spec.Duration),
            ["rounds"] = $"{rounds}",
            ["isolate"] = isolated ? "process" : "none",
            ["seed"] = $"{spec.Seed}",
        };
        if (spec.Groups is not [{ Name: WorkerRunSpec.DefaultGroup }])
        {
            texts["groups"] = string.Join(',', spec.Groups.Select(static g => $"{g.Name}:{g.Workers}"));
        }

        if (spec.RatePerSecond is { } rate)
        {
            texts["rate"] = FormattableString.Invariant($"{rate}/s");
        }

        if (spec.MaxInFlight is { } most)
        {
            texts["max_inflight"] = $"{most}";
        }

        if (spec.MinThreads is { } threads)
        {
            texts["min_threads"] = $"{threads}";
        }

        return texts;
    }
}

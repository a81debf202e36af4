namespace Weir.Lab.Report.Writing;

/// <summary>
/// Writes the latencies of a result for the plotters of HdrHistogram: a <c>.hgrm</c> file for each arm, and with a rate a second one that counts from the
/// intended start.
/// </summary>
internal static class LatencyFiles
{
    /// <summary>The form, as one asks for it, and the ending of the files.</summary>
    public const string Form = "hgrm";

    /// <summary>Names and texts of the files; none when nothing has a latency.</summary>
    public static IEnumerable<(string File, string Text)> Of(ResultFile result, string name)
    {
        foreach (ArmRecord arm in result.Arms)
        {
            if (arm.Latency(static r => r.Service) is { } service)
            {
                yield return (NameOf(name, arm, "service"), Text(service));
            }

            if (arm.Latency(static r => r.Response) is { } response)
            {
                yield return (NameOf(name, arm, "response"), Text(response));
            }
        }
    }

    /// <summary>The name of an arm as a part of a file's: it may hold anything, such as the label of a comparison.</summary>
    public static string Plain(string name) => string.Concat(name.Select(static c => char.IsAsciiLetterOrDigit(c) ? c : '_'));

    private static string NameOf(string name, ArmRecord arm, string from) =>
        $"{name}-{Plain(arm.Name)}-x{arm.Workers}-{from}.{Form}";

    private static string Text(LatencyHistogram latency)
    {
        using StringWriter text = new();
        PercentileSpectrum.Write(latency, text);
        return text.ToString();
    }
}

/// <summary>Writes the profiles of a result for speedscope (https://www.speedscope.app): a file for each arm, with its work and its waiting.</summary>
internal static class ProfileFiles
{
    /// <summary>The form, as one asks for it.</summary>
    public const string Form = "speedscope";

    /// <summary>Names and texts of the files; none if nothing was profiled.</summary>
    public static IEnumerable<(string File, string Text)> Of(ResultFile result, string name) => result.Arms.Where(static a => a.Profile is not null)
        .Select(a => ($"{name}-{LatencyFiles.Plain(a.Name)}-x{a.Workers}.{Form}.json", Text(a, a.Profile!)));

    private static string Text(ArmRecord arm, ProfileRecord profile)
    {
        Dictionary<string, int> frames = [];
        int IndexOf(string frame) => frames.TryGetValue(frame, out int known) ? known : frames[frame] = frames.Count;
        object Sampled(string title, IReadOnlyList<ProfileStack> stacks) => new
        {
            type = "sampled",
            name = title,
            unit = "none",
            startValue = 0,
            endValue = stacks.Sum(static s => s.Samples),
            samples = stacks.Select(s => s.Path.Select(IndexOf).ToArray()).ToArray(),
            weights = stacks.Select(static s => s.Samples).ToArray(),
        };
        object[] profiles = [Sampled($"{arm.Label}: work", profile.Stacks), Sampled($"{arm.Label}: waiting", profile.Waits)];
        return JsonSerializer.Serialize(new Dictionary<string, object>
        {
            ["$schema"] = "https://www.speedscope.app/file-format-schema.json",
            ["name"] = arm.Label,
            ["exporter"] = "weir",
            ["shared"] = new { frames = frames.Keys.Select(static f => new { name = f }).ToArray() },
            ["profiles"] = profiles,
        }) + "\n";
    }
}

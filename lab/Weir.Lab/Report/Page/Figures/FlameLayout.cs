namespace Weir.Lab.Report.Page.Figures;

/// <summary>Where the frames of a flame graph lie: a caller above what it called, as wide as that or wider, and the widest of them at the left.</summary>
internal static class FlameLayout
{
    /// <summary>Lays stacks out.</summary>
    /// <returns>The frames, each after its caller.</returns>
    public static IReadOnlyList<FlameFrame> Of(IReadOnlyList<ProfileStack> stacks)
    {
        List<FlameFrame> frames = [];
        Add(frames, [.. stacks.Select(static s => (s.Path, s.Samples))], 0, 0);
        return frames;
    }

    private static void Add(List<FlameFrame> frames, IReadOnlyList<(IReadOnlyList<string> Path, int Samples)> stacks, int depth, int start)
    {
        foreach (var called in stacks.Where(s => s.Path.Count > depth).GroupBy(s => s.Path[depth])
            .Select(static g => (Name: g.Key, Stacks: g.ToArray(), Samples: g.Sum(static s => s.Samples)))
            .OrderByDescending(static g => g.Samples).ThenBy(static g => g.Name, StringComparer.Ordinal))
        {
            frames.Add(new FlameFrame(called.Name, depth, start, called.Samples));
            Add(frames, called.Stacks, depth + 1, start);
            start += called.Samples;
        }
    }
}

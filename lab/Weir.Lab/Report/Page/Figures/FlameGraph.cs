namespace Weir.Lab.Report.Page.Figures;

/// <summary>Draws a flame graph: a rectangle for each frame, with what it is as a tooltip. It has one width for all screens; a phone scrolls it.</summary>
internal static class FlameGraph
{
    private const int Width = 920;
    private const int RowHeight = 20;
    private const int Colours = 8;

    // In pixels: narrower frames cannot be seen, and in narrower ones no word can be read.
    private const double Narrowest = 0.4;
    private const double NarrowestText = 32;
    private const double Character = 7;

    /// <summary>Draws it.</summary>
    /// <param name="profile">A profile with samples.</param>
    /// <param name="id">The name of the drawing in the page.</param>
    /// <param name="title">The title for screen readers.</param>
    public static string Svg(ProfileRecord profile, string id, string title)
    {
        double scale = (double)Width / profile.Samples;
        FlameFrame[] frames = [.. FlameLayout.Of(profile.Stacks).Where(f => f.Samples * scale >= Narrowest)];
        int height = (frames.Max(static f => f.Depth) + 1) * RowHeight;
        StringBuilder svg = new();
        svg.Append(CultureInfo.InvariantCulture, $"<svg viewBox=\"0 0 {Width} {height}\" width=\"{Width}\" height=\"{height}\" role=\"img\" "
            + $"aria-labelledby=\"{id}-t\"><title id=\"{id}-t\">{WebUtility.HtmlEncode(title)}</title>\n");
        foreach (FlameFrame frame in frames)
        {
            Append(svg, frame, scale, profile.Samples);
        }

        return svg.Append("</svg>").ToString();
    }

    private static void Append(StringBuilder svg, FlameFrame frame, double scale, int all)
    {
        double x = frame.Start * scale;
        double width = frame.Samples * scale;
        int y = frame.Depth * RowHeight;
        svg.Append(CultureInfo.InvariantCulture, $"<g class=\"s{ColourOf(frame.Name)}\"><title>{WebUtility.HtmlEncode(frame.Name)}: "
            + $"{ProfileTables.Share(frame.Samples, all)}, {frame.Samples:#,0} samples</title>")
            .Append(CultureInfo.InvariantCulture, $"<rect x=\"{x:0.##}\" y=\"{y}\" width=\"{width:0.##}\" height=\"{RowHeight}\"/>");
        if (width >= NarrowestText)
        {
            // An inner drawing clips what is still too wide.
            string text = Fitting(frame.Name, (int)((width - 8) / Character));
            svg.Append(CultureInfo.InvariantCulture, $"<svg x=\"{x:0.##}\" y=\"{y}\" width=\"{width - 3:0.##}\" height=\"{RowHeight}\"><text x=\"4\" "
                + $"y=\"14\">{WebUtility.HtmlEncode(text)}</text></svg>");
        }

        svg.Append("</g>\n");
    }

    /// <summary>As much of a name as has room: without its namespaces first, then without its end.</summary>
    internal static string Fitting(string name, int most)
    {
        // What stands in brackets has dots of its own.
        int end = name.IndexOfAny(['[', '<', '('], Math.Min(1, name.Length)) is > 0 and int bracket ? bracket : name.Length;
        while (name.Length > most && name.IndexOf('.', 1) is > 0 and int dot && dot < end && name.IndexOf('.', dot + 1) > 0)
        {
            name = name[(dot + 1)..];
            end -= dot + 1;
        }

        return name.Length <= most ? name : most > 1 ? name[..(most - 1)] + "…" : "";
    }

    // The same type has the same colour in every drawing.
    private static int ColourOf(string name)
    {
        int end = name.LastIndexOf('.');
        uint hash = 2166136261;
        foreach (char c in end > 0 ? name[..end] : name)
        {
            hash = (hash ^ c) * 16777619;
        }

        return (int)(hash % Colours);
    }
}

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

/// <summary>A frame of a flame graph: calls of one method from the same callers.</summary>
/// <param name="Name">The method.</param>
/// <param name="Depth">How many callers are above it.</param>
/// <param name="Start">How many samples are to the left of it.</param>
/// <param name="Samples">How many samples have it.</param>
internal sealed record FlameFrame(string Name, int Depth, int Start, int Samples);

namespace Weir.Lab.Report.Page.Plotting;

/// <summary>The shape and colour of a series. Shapes differ too, for readers who cannot distinguish the colours.</summary>
internal static class Marker
{
    /// <summary>How many different ones there are.</summary>
    public const int Count = 8;

    /// <summary>A shape in a plot.</summary>
    public static string Svg(double x, double y, int series)
    {
        string n(double value) => PlotFrame.Number(value);
        string shape = (series % Count) switch
        {
            0 => $"<circle cx=\"{n(x)}\" cy=\"{n(y)}\" r=\"4\"",
            1 => $"<rect x=\"{n(x - 3.5)}\" y=\"{n(y - 3.5)}\" width=\"7\" height=\"7\"",
            2 => $"<path d=\"M{n(x)} {n(y - 4.8)}l4.6 8h-9.2z\"",
            3 => $"<path d=\"M{n(x)} {n(y - 5)}l5 5-5 5-5-5z\"",
            4 => $"<path d=\"M{n(x)} {n(y + 4.8)}l4.6-8h-9.2z\"",
            5 => $"<path d=\"M{n(x - 5)} {n(y - 1.5)}h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z\"",
            6 => $"<rect x=\"{n(x - 5)}\" y=\"{n(y - 2.2)}\" width=\"10\" height=\"4.4\"",
            _ => $"<rect x=\"{n(x - 2.2)}\" y=\"{n(y - 5)}\" width=\"4.4\" height=\"10\"",
        };
        return $"{shape} class=\"dot {PlotFrame.Series(series)}\"/>";
    }

    /// <summary>A shape beside the name of its series.</summary>
    public static string Legend(int series, bool dashed = false) =>
        $"<svg class=\"key\" viewBox=\"0 0 26 14\" width=\"26\" height=\"14\" aria-hidden=\"true\"><path class=\"line "
            + $"{PlotFrame.Series(series)}{(dashed ? " dashed" : "")}\" d=\"M0 7H26\"/>{(dashed ? "" : Svg(13, 7, series))}</svg>";
}

namespace Weir.Lab.Report.Page.Plotting;

/// <summary>One plot as SVG: axes, grid, and what is drawn between them. Colours come from the page, so that they suit light and dark.</summary>
internal sealed class PlotFrame
{
    private const int Left = 54;
    private const int Right = 14;
    private const int Top = 26;
    private const int Character = 7;
    private const int Tick = 8;
    private const int RowHeight = 46;

    private readonly StringBuilder _drawn = new();
    private readonly int _width;
    private readonly int _height;
    private readonly int _left;
    private readonly int _bottom;
    private readonly Scale _x;
    private readonly Scale _y;

    /// <summary>Creates a plot.</summary>
    /// <param name="width">Its width in units that are pixels on the page.</param>
    /// <param name="height">Its height.</param>
    /// <param name="x">The axis along the bottom.</param>
    /// <param name="y">The axis along the left.</param>
    /// <param name="xTitle">What the axis along the bottom shows; empty when the plot below it says so.</param>
    /// <param name="yTitle">What the axis along the left shows.</param>
    public PlotFrame(int width, int height, Scale x, Scale y, string xTitle, string yTitle)
    {
        _width = width;
        _height = height;
        _x = x;
        _y = y;
        // As wide for all, so that axes below each other line up.
        _left = y.Ticks.Count == 0 ? 8 : Math.Max(Left, 12 + (Character * y.Ticks.Select(static t => t.Label.Length).DefaultIfEmpty(0).Max()));
        _bottom = xTitle.Length > 0 ? 42 : 24;
        Axes(xTitle, yTitle);
    }

    /// <summary>Creates a plot of rows, one below the other, each with its name above it.</summary>
    /// <param name="width">Its width in units that are pixels on the page.</param>
    /// <param name="rows">How many.</param>
    /// <param name="x">The axis along the bottom.</param>
    /// <param name="xTitle">What it shows.</param>
    public static PlotFrame OfRows(int width, int rows, Scale x, string xTitle) =>
        new(width, (rows * RowHeight) + Top + 42, x, Scale.Numbered(-rows, 0, []), xTitle, "");

    /// <summary>The name of a row, cut where the plot ends.</summary>
    public void Row(int row, string name)
    {
        _drawn.Append(CultureInfo.InvariantCulture, $"<text class=\"label\" x=\"4\" y=\"{Number(Y(-row) + 14)}\">{WebUtility.HtmlEncode(Cut(name))}</text>");
    }

    /// <summary>An interval in a row.</summary>
    public void Span(int row, double low, double high, int series) =>
        _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"whisker thick {Series(series)}\" d=\"M{Number(X(low))} "
            + $"{Number(Middle(row))}H{Number(X(high))}M{Number(X(low))} {Number(Middle(row) - 6)}v12M{Number(X(high))} {Number(Middle(row) - 6)}v12\"/>");

    /// <summary>One of many values in a row.</summary>
    public void Dot(int row, double value, int series) =>
        _drawn.Append(
            CultureInfo.InvariantCulture, $"<circle class=\"ring {Series(series)}\" cx=\"{Number(X(value))}\" cy=\"{Number(Middle(row))}\" r=\"4\"/>");

    public void Mark(int row, double value, int series) => _drawn.Append(Marker.Svg(X(value), Middle(row), series));

    /// <summary>A part of the axis along the bottom, shaded from top to bottom.</summary>
    public void Zone(double from, double to) =>
        _drawn.Append(CultureInfo.InvariantCulture,
            $"<rect class=\"zone\" x=\"{Number(X(from))}\" y=\"{Top}\" width=\"{Number(X(to) - X(from))}\" height=\"{_height - _bottom - Top}\"/>");

    /// <summary>A line through points with the area below it shaded.</summary>
    public void Area(IReadOnlyList<(double X, double Y)> points, int series, bool dashed = false)
    {
        if (points.Count > 1)
        {
            string path = string.Join(' ', points.Select((p, i) => $"{(i == 0 ? 'M' : 'L')}{Number(X(p.X))} {Number(Y(p.Y))}"));
            string floor = Number(Y(_y.Low));
            _drawn.Append(CultureInfo.InvariantCulture,
                $"<path class=\"area {Series(series)}\" d=\"{path} L{Number(X(points[^1].X))} {floor} L{Number(X(points[0].X))} {floor}Z\"/>");
            Line(points, series, dashed);
        }
    }

    /// <summary>A line through points, of a series.</summary>
    public void Line(IEnumerable<(double X, double Y)> points, int series, bool dashed = false)
    {
        string path = string.Join(' ', points.Where(static p => double.IsFinite(p.X) && double.IsFinite(p.Y))
            .Select((p, i) => $"{(i == 0 ? 'M' : 'L')}{Number(X(p.X))} {Number(Y(p.Y))}"));
        if (path.Length > 0)
        {
            _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"line {Series(series)}{(dashed ? " dashed" : "")}\" d=\"{path}\"/>");
        }
    }

    /// <summary>A point with its shape, and its interval as a whisker when there is one.</summary>
    public void Point(double x, double y, int series, double? low = null, double? high = null, int shift = 0)
    {
        double at = X(x) + shift;
        if (low is { } l && high is { } h)
        {
            _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"whisker {Series(series)}\" d=\"M{Number(at)} "
                + $"{Number(Y(l))}V{Number(Y(h))}M{Number(at - 4)} {Number(Y(l))}h8M{Number(at - 4)} {Number(Y(h))}h8\"/>");
        }

        _drawn.Append(Marker.Svg(at, Y(y), series));
    }

    /// <summary>One of several values at a place, such as a round where there are too few for an interval.</summary>
    public void Ring(double x, double y, int series, int shift = 0) =>
        _drawn.Append(CultureInfo.InvariantCulture, $"<circle class=\"ring {Series(series)}\" cx=\"{Number(X(x) + shift)}\" cy=\"{Number(Y(y))}\" r=\"4\"/>");

    /// <summary>An arm at a place: its median, and the interval of that as a whisker. Where there are too few rounds for an interval, they are rings.</summary>
    public void Rate(double x, ArmRecord arm, int series, int shift)
    {
        MedianInterval rate = arm.RateInterval();
        foreach (RoundRecord round in rate.IsUsual ? [] : arm.Counted)
        {
            Ring(x, round.Rate, series, shift);
        }

        Point(x, rate.Median, series, rate.IsUsual ? rate.Low : null, rate.IsUsual ? rate.High : null, shift);
    }

    /// <summary>A line from top to bottom with a word beside it.</summary>
    public void Vertical(double x, string label)
    {
        double at = X(x);
        bool right = at > _width * 0.65;
        _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"mark\" d=\"M{Number(at)} {Top}V{_height - _bottom}\"/>")
            .Append(CultureInfo.InvariantCulture, $"<text class=\"label\" x=\"{Number(at + (right ? -5 : 5))}\" y=\"{Top + 12}\" "
                + $"text-anchor=\"{(right ? "end" : "start")}\">{WebUtility.HtmlEncode(label)}</text>");
    }

    /// <summary>A line from left to right.</summary>
    public void Horizontal(double y) => _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"mark\" d=\"M{_left} {Number(Y(y))}H{_width - Right}\"/>");

    /// <summary>A bar from the axis up.</summary>
    public void Bar(double from, double to, double y, int series)
    {
        double left = X(from);
        double top = Math.Min(Y(y), Y(_y.Low));
        _drawn.Append(CultureInfo.InvariantCulture, $"<rect class=\"bar {Series(series)}\" x=\"{Number(left)}\" y=\"{Number(top)}\" "
            + $"width=\"{Number(Math.Max(0.5, X(to) - left))}\" height=\"{Number(Y(_y.Low) - top)}\"/>");
    }

    /// <summary>The plot.</summary>
    /// <param name="id">A name that nothing else on the page has.</param>
    /// <param name="title">The title for screen readers.</param>
    /// <param name="description">The description for screen readers.</param>
    public string Svg(string id, string title, string description) =>
        $"<svg viewBox=\"0 0 {_width} {_height}\" width=\"{_width}\" height=\"{_height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">"
        + $"<title id=\"{id}-t\">{WebUtility.HtmlEncode(title)}</title><desc id=\"{id}-d\">{WebUtility.HtmlEncode(description)}</desc>{_drawn}</svg>";

    /// <summary>A number for a drawing: to a tenth of a pixel.</summary>
    internal static string Number(double value) => value.ToString("0.#", CultureInfo.InvariantCulture);

    /// <summary>The class of a series' colour.</summary>
    internal static string Series(int series) => $"s{series % Marker.Count}";

    // Names may be as long as a command; the table has them whole.
    private string Cut(string text)
    {
        int most = (_width - Right) / Character;
        return text.Length > most ? text[..(most - 1)] + "…" : text;
    }

    private double Middle(int row) => Y(-row) + (RowHeight * 0.66);

    private double X(double value) => _left + (Clamped(_x.Position(value)) * (_width - _left - Right));

    private double Y(double value) => _height - _bottom - (Clamped(_y.Position(value)) * (_height - _bottom - Top));

    private static double Clamped(double position) => double.IsNaN(position) ? 0 : Math.Clamp(position, -0.02, 1.02);

    private void Axes(string xTitle, string yTitle)
    {
        foreach ((double value, string label) in _y.Ticks)
        {
            _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"grid\" d=\"M{_left} {Number(Y(value))}H{_width - Right}\"/>")
                .Append(CultureInfo.InvariantCulture,
                    $"<text class=\"tick\" x=\"{_left - 6}\" y=\"{Number(Y(value) + 4)}\" text-anchor=\"end\">{WebUtility.HtmlEncode(label)}</text>");
        }

        double free = double.NegativeInfinity;
        foreach ((double value, string label) in _x.Ticks)
        {
            double at = X(value);
            double half = (label.Length * Character / 2.0) + 2;
            _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"axis\" d=\"M{Number(at)} {_height - _bottom}v4\"/>");

            // Labels that would run into each other are left out.
            if (at - half >= free)
            {
                _drawn.Append(CultureInfo.InvariantCulture, $"<text class=\"tick\" x=\"{Number(Math.Clamp(at, half, _width - half))}\" "
                    + $"y=\"{_height - _bottom + Tick + 9}\" text-anchor=\"middle\">{WebUtility.HtmlEncode(label)}</text>");
                free = at + half;
            }
        }

        _drawn.Append(CultureInfo.InvariantCulture, $"<path class=\"axis\" d=\"M{_left} {_height - _bottom}H{_width - Right}\"/>")
            .Append(CultureInfo.InvariantCulture, $"<text class=\"title\" x=\"2\" y=\"13\">{WebUtility.HtmlEncode(Cut(yTitle))}</text>");
        if (xTitle.Length > 0)
        {
            _drawn.Append(CultureInfo.InvariantCulture,
                $"<text class=\"title\" x=\"{_width - Right}\" y=\"{_height - 5}\" text-anchor=\"end\">{WebUtility.HtmlEncode(xTitle)}</text>");
        }
    }
}

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

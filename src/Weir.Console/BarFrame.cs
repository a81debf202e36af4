using Spectre.Console;
using Spectre.Console.Rendering;

namespace Weir.Terminal;

/// <summary>The bars of a moment, as lines of a terminal of some width: columns below each other, of which narrow terminals show fewer.</summary>
internal static class BarFrame
{
    // In this order, from the left: name, bar, and these. Those that say least go first where it is narrow.
    private const int Percent = 0;
    private const int Count = 1;
    private const int Rate = 2;
    private const int Left = 3;
    private const int Failed = 4;
    private const int Columns = 5;

    private const int Gap = 2;
    private const int LeastBar = 10;
    private const int MostBar = 40;
    private const int LeastName = 8;
    private static readonly int[] Goes = [Count, Rate, Left];
    private static readonly TimeSpan Turn = TimeSpan.FromMilliseconds(100);

    private static readonly Style Done = new(Color.Green);
    private static readonly Style Rest = new(Color.Grey);
    private static readonly Style Bad = new(Color.Red);

    /// <summary>The lines, none of which is wider than the width.</summary>
    public static IReadOnlyList<IReadOnlyList<Segment>> Lines(IReadOnlyList<BarState> bars, int width, bool isUnicode)
    {
        string[][] cells = [.. bars.Select(static bar => Cells(bar))];
        int[] widths = [.. Enumerable.Range(0, Columns).Select(column => cells.Max(row => row[column].Length))];
        bool hasBar = bars.Any(static bar => bar.Percent is not null);
        int name = bars.Max(static bar => Width(bar.Name));
        int bar = hasBar ? LeastBar : 1;
        foreach (int column in Goes)
        {
            if (Needed() > width)
            {
                widths[column] = 0;
            }
        }

        name = Math.Min(name, Math.Max(LeastName, name - (Needed() - width)));
        if (Needed() > width)
        {
            bar = Math.Max(1, bar - (Needed() - width));
        }
        else if (hasBar)
        {
            bar = Math.Min(MostBar, bar + width - Needed());
        }

        List<IReadOnlyList<Segment>> lines = [];
        for (int i = 0; i < bars.Count; i++)
        {
            List<Segment> line = [new(Fit(bars[i].Name, name, isUnicode) + new string(' ', Gap))];
            line.AddRange(Bar(bars[i], bar, isUnicode, hasCount: widths[Count] > 0));
            for (int column = 0; column < Columns; column++)
            {
                if (widths[column] > 0)
                {
                    line.Add(new Segment(new string(' ', Gap) + cells[i][column].PadLeft(widths[column]), column == Failed ? Bad : Style.Plain));
                }
            }

            lines.Add(Segment.Truncate(line, width));
        }

        return lines;

        int Needed() => name + Gap + bar + widths.Where(static w => w > 0).Sum(static w => w + Gap);
    }

    /// <summary>A text cut to a width of a terminal's cells.</summary>
    private static string Fit(string text, int width, bool isUnicode)
    {
        if (Width(text) <= width)
        {
            return text + new string(' ', width - Width(text));
        }

        string end = isUnicode ? "…" : ".";
        while (Width(text) > width - 1)
        {
            text = text[..^(text.Length > 1 && char.IsLowSurrogate(text[^1]) ? 2 : 1)];
        }

        return text + end + new string(' ', width - 1 - Width(text));
    }

    private static int Width(string text) => new Segment(text).CellCount();

    private static string[] Cells(BarState bar) =>
    [
        bar.Percent is { } percent ? BarState.PercentText(percent) : "",
        bar.Count,
        bar.RateText,
        bar.Left is { } left ? $"{BarState.Time(left)} left" : BarState.Time(bar.Elapsed),
        bar.Failed > 0 ? $"{BarState.Grouped(bar.Failed)} failed" : "",
    ];

    private static IEnumerable<Segment> Bar(BarState bar, int width, bool isUnicode, bool hasCount)
    {
        if (bar.Percent is { } percent)
        {
            int done = (int)(width * percent / 100);
            yield return new Segment(new string(isUnicode ? '━' : '#', done), Done);
            yield return new Segment(new string(isUnicode ? '━' : '-', width - done), Rest);
        }
        else
        {
            string turns = isUnicode ? "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" : @"|/-\";
            yield return new Segment(turns[(int)(bar.Elapsed / Turn % turns.Length)].ToString(), Done);

            // Where there is no room for the column, the count takes that of the bar: it is all there is to say.
            string count = hasCount || bar.Count.Length + 2 > width ? "" : " " + bar.Count;
            yield return new Segment(count.PadRight(width - 1));
        }
    }
}

namespace Weir.Lab.Report.Tables;

/// <summary>A table of texts, for any of the forms that results are written in.</summary>
/// <param name="Title">What it shows.</param>
/// <param name="Columns">The heads.</param>
/// <param name="Rows">The rows, each as wide as the heads.</param>
/// <param name="Labels">How many columns at the left are names; the others are figures.</param>
public sealed record Table(string Title, IReadOnlyList<string> Columns, IReadOnlyList<IReadOnlyList<string>> Rows, int Labels = 1)
{
    /// <summary>The head of a column that names a row too, though it is a number.</summary>
    internal const string Workers = "workers";

    /// <summary>The heads of the figures that say most, the most important first. The others come behind them, in the order in which they stand.</summary>
    internal IReadOnlyList<string> Important { get; init; } = [];

    /// <summary>A table of some things: a column that nothing has a text for is left out.</summary>
    /// <typeparam name="T">The type of the things.</typeparam>
    /// <param name="title">What it shows.</param>
    /// <param name="labels">How many columns at the left are names.</param>
    /// <param name="things">A row each.</param>
    /// <param name="columns">The heads, and the text of a thing in each column.</param>
    internal static Table Of<T>(string title, int labels, IReadOnlyList<T> things, params (string Head, Func<T, string?> Text)[] columns)
    {
        string?[][] texts = [.. columns.Select(c => things.Select(c.Text).ToArray())];
        int[] shown = [.. Enumerable.Range(0, columns.Length).Where(i => texts[i].Any(static t => t is not null))];
        return new Table(
            title,
            [.. shown.Select(i => columns[i].Head)],
            [.. things.Select((_, row) => (IReadOnlyList<string>)[.. shown.Select(i => texts[i][row] ?? "")])],
            labels);
    }
}

/// <summary>Writes tables for people: on a terminal no wider than it is, because a row that breaks in the middle of a number cannot be read.</summary>
/// <remarks>
/// Where a line would be too long for all figures, those are left out that do not fit behind more important ones: a table in parts below each other has to be
/// put together by its reader.
/// </remarks>
internal static class TableText
{
    private const string Edge = "  ";
    private const string Between = "   ";
    private const char Rule = '─';

    // A name that was cut still tells more than no figure beside it.
    private const int LeastName = 12;

    /// <summary>Writes a table, with as many of its figures as a line has room for.</summary>
    /// <returns>The heads of the figures that had no room.</returns>
    public static IReadOnlyList<string> Write(Table table, TextWriter output, TextStyle style)
    {
        Table fitting = Fitting(table, style.Width);
        Draw(fitting, output, style.IsColored);
        return [.. table.Columns.Except(fitting.Columns)];
    }

    /// <summary>The table with what fits: the names, cut where there is no room for them and one figure, and the most important figures.</summary>
    /// <param name="table">The table.</param>
    /// <param name="width">The width; <see langword="null"/> for no limit.</param>
    internal static Table Fitting(Table table, int? width)
    {
        if (width is not { } most || WidthOf(table) <= most)
        {
            return table;
        }

        int[] keys = [.. Enumerable.Range(0, table.Columns.Count).Where(i => i < table.Labels || table.Columns[i] == Table.Workers)];
        int RankOf(int column) => table.Important.TakeWhile(head => head != table.Columns[column]).Count();
        int[] figures = [.. Enumerable.Range(0, table.Columns.Count).Except(keys).OrderBy(RankOf)];
        table = Shortened(table, keys, figures, most);
        List<int> shown = [.. keys];
        foreach (int column in figures)
        {
            if (WidthOf(Part(table, [.. shown.Append(column).Order()])) <= most)
            {
                shown.Add(column);
            }
        }

        return Part(table, [.. shown.Order()]);
    }

    // Names of which the longest are cut at their beginning, because their end tells more, until there is room for the first figure too.
    private static Table Shortened(Table table, int[] keys, int[] figures, int most)
    {
        int[] widths = Widths(table);
        int[] needed = [.. keys.Concat(figures.Take(1))];
        int Excess() => WidthOf([.. needed.Select(i => widths[i])]) - most;
        while (Excess() > 0 && keys.Where(i => i < table.Labels).MaxBy(i => widths[i]) is var longest && widths[longest] > LeastName)
        {
            widths[longest] = Math.Max(LeastName, widths[longest] - 1);
        }

        string Cut(string text, int column) => column < table.Labels && text.Length > widths[column] ? "…" + text[^(widths[column] - 1)..] : text;
        return table with
        {
            Columns = [.. table.Columns.Select(Cut)],
            Rows = [.. table.Rows.Select(row => (IReadOnlyList<string>)[.. row.Select(Cut)])],
        };
    }

    private static Table Part(Table table, int[] columns) => table with
    {
        Columns = [.. columns.Select(i => table.Columns[i])],
        Rows = [.. table.Rows.Select(row => (IReadOnlyList<string>)[.. columns.Select(i => row[i])])],
        Labels = columns.Count(i => i < table.Labels),
    };

    private static int WidthOf(Table table) => WidthOf(Widths(table));

    private static int WidthOf(int[] widths) => Edge.Length + widths.Sum() + (Between.Length * (widths.Length - 1));

    private static int[] Widths(Table table) =>
        [.. table.Columns.Select((head, i) => table.Rows.Select(row => row[i].Length).Append(head.Length).Max())];

    private static void Draw(Table table, TextWriter output, bool isColored)
    {
        int[] widths = Widths(table);
        output.WriteLine(table.Title);
        output.WriteLine(Line(table, widths, table.Columns, isColored: false));
        output.WriteLine(new string(Rule, WidthOf(widths)));
        foreach (IReadOnlyList<string> row in table.Rows)
        {
            output.WriteLine(Line(table, widths, row, isColored));
        }
    }

    private static string Line(Table table, int[] widths, IReadOnlyList<string> cells, bool isColored) =>
        (Edge + string.Join(Between, cells.Select((cell, i) => Cell(cell, widths[i], isLabel: i < table.Labels, isColored)))).TrimEnd();

    // The spaces outside of the colour, which some terminals would show.
    private static string Cell(string text, int width, bool isLabel, bool isColored)
    {
        string spaces = new(' ', width - text.Length);
        string shown = isColored && ColorOf(text) is { } color ? $"\u001b[{color}m{text}\u001b[0m" : text;
        return isLabel ? shown + spaces : spaces + shown;
    }

    private static int? ColorOf(string text) =>
        VerdictWords.Find(text) switch
        {
            Verdict.Slower or Verdict.More => 31, Verdict.Faster or Verdict.Less => 32, _ => null,
        };
}

/// <summary>How text for people is written.</summary>
/// <param name="Width">How many characters a line of a table may have; <see langword="null"/> for no limit, as in files and pipes.</param>
/// <param name="IsColored">Whether verdicts are coloured, by the escape sequences of ECMA-48 that terminals understand.</param>
public sealed record TextStyle(int? Width = null, bool IsColored = false)
{
    /// <summary>For files and pipes: no limit, no colours.</summary>
    public static TextStyle Plain { get; } = new();
}

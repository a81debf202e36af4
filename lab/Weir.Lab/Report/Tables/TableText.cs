namespace Weir.Lab.Report.Tables;

/// <summary>Writes tables for people: on a terminal no wider than it is, because a row that breaks in the middle of a number cannot be read.</summary>
internal static class TableText
{
    private const string Edge = "  ";
    private const string Between = "   ";
    private const char Rule = '─';

    /// <summary>Writes a table, in parts below each other where a line would be too long for all its columns.</summary>
    public static void Write(Table table, TextWriter output, TextStyle style)
    {
        foreach (Table part in Fitting(table, style.Width))
        {
            Draw(part, output, style.IsColored);
        }
    }

    /// <summary>The table in parts that are no wider than a terminal. Each has the columns that name its rows, and the next of the figures.</summary>
    /// <param name="table">The table.</param>
    /// <param name="width">The width; <see langword="null"/> for no limit.</param>
    internal static IEnumerable<Table> Fitting(Table table, int? width)
    {
        if (width is not { } most || WidthOf(table) <= most)
        {
            return [table];
        }

        int[] keys = [.. Enumerable.Range(0, table.Columns.Count).Where(i => i < table.Labels || table.Columns[i] == Table.Workers)];
        List<List<int>> parts = [];
        foreach (int column in Enumerable.Range(0, table.Columns.Count).Except(keys))
        {
            if (parts.Count == 0 || WidthOf(Part(table, [.. keys, .. parts[^1], column])) > most)
            {
                parts.Add([]);
            }

            parts[^1].Add(column);
        }

        return parts.Select(part => Part(table, [.. keys, .. part]));
    }

    internal static Table Part(Table table, int[] columns) => table with
    {
        Columns = [.. columns.Select(i => table.Columns[i])],
        Rows = [.. table.Rows.Select(row => (IReadOnlyList<string>)[.. columns.Select(i => row[i])])],
        Labels = columns.Count(i => i < table.Labels),
    };

    internal static int WidthOf(Table table) => WidthOf(Widths(table));

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
        VerdictWords.Find(text) switch { Verdict.Slower or Verdict.More => 31, Verdict.Faster or Verdict.Less => 32, _ => null };
}

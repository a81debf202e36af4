using Spectre.Console;
using Weir.Cli.Formatting;
using Weir.Cli.Hosting;
using Weir.Lab.Statistics;

namespace Weir.Cli.Report.Tables;

/// <summary>Draws tables for people: on a terminal no wider than it is, because a row that breaks in the middle of a number cannot be read.</summary>
internal static class TableText
{
    // For files and pipes: more than any table needs.
    private const int Unlimited = 400;

    /// <summary>Draws a table, in parts below each other where the terminal is too narrow for all its columns.</summary>
    public static void Write(Table table, CliHost host)
    {
        foreach (Table part in Fitting(table, host.Width))
        {
            Draw(part, host);
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

    private static Table Part(Table table, int[] columns) => table with
    {
        Columns = [.. columns.Select(i => table.Columns[i])],
        Rows = [.. table.Rows.Select(row => (IReadOnlyList<string>)[.. columns.Select(i => row[i])])],
        Labels = columns.Count(i => i < table.Labels),
    };

    private static int WidthOf(Table table)
    {
        using StringWriter text = new();
        Render(table, text, isTerminal: false);
        return text.ToString().Split('\n').Max(static line => line.TrimEnd().Length);
    }

    // Through text, because the table comes with empty lines and with spaces at the ends of the others.
    private static void Draw(Table table, CliHost host)
    {
        host.Out.WriteLine(table.Title);
        using StringWriter text = new();
        Render(table, text, host.OutIsTerminal);
        foreach (string line in text.ToString().Split('\n').Select(static line => line.TrimEnd()).Where(static line => line.Length > 0))
        {
            host.Out.WriteLine(line);
        }
    }

    private static void Render(Table table, StringWriter text, bool isTerminal)
    {
        Spectre.Console.Table drawn = new() { Border = TableBorder.Simple };
        for (int i = 0; i < table.Columns.Count; i++)
        {
            TableColumn column = new(Markup.Escape(table.Columns[i])) { NoWrap = true };
            drawn.AddColumn(i < table.Labels ? column.LeftAligned() : column.RightAligned());
        }

        foreach (IReadOnlyList<string> row in table.Rows)
        {
            drawn.AddRow([.. row.Select(static cell => VerdictWords.Find(cell) switch { Verdict.Slower => $"[red]{cell}[/]", Verdict.Faster => $"[green]{cell}[/]", _ => Markup.Escape(cell) })]);
        }

        IAnsiConsole console = Consoles.Create(text, isTerminal);
        console.Profile.Width = Unlimited;
        console.Write(drawn);
    }
}

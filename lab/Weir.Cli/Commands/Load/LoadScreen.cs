using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;

namespace Weir.Cli.Commands.Load;

/// <summary>A result on one screen: the answer first, then the figures that it is made of, then what to know of them.</summary>
internal static class LoadScreen
{
    /// <summary>The columns of a terminal whose width nobody knows.</summary>
    private const int UsualWidth = 80;

    private static readonly string[] Columns = ["items/s", "[min..max]", "ns/item", "x loop", "x ForEachAsync", "B/item", "CPU s/M"];

    public static void Write(ResultFile result, TextWriter output, TextStyle style)
    {
        int width = style.Width ?? UsualWidth;
        void Say(string text)
        {
            foreach (string line in Wrapped(text, width))
            {
                output.WriteLine(line);
            }
        }

        Say(LoadAnswer.Of(result));
        output.WriteLine();
        if (ResultTables.Passes(result) is { } table)
        {
            TableText.Write(Narrowed(table, width), output, style);
            output.WriteLine();
        }

        // The form that scripts read, where there is one runtime.
        (string Key, string Value)[] figures = result.Arms is [var only]
            ? [(PassFigures.Runtime, LoadAnswer.NameOf(only)), .. ResultText.Of(result).Groups[^1]]
            : [];
        foreach ((string key, string value) in figures)
        {
            Say($"{key}={value}");
        }

        Say($"Work of an item: {result.Work}. items/s: the median of {result.Settings["trials"]} windows, in turns; ns/item: the time of an item at that rate; "
            + "B, CPU: of the whole process.");
        foreach (string line in ResultText.Sentences(result.Findings))
        {
            Say(line);
        }

        Say("More: --details (settings, machine, comparisons), --export html (a page), --peers (what one would write without Weir).");
    }

    // Of the table those columns that say most, as many as fit on a line.
    private static Table Narrowed(Table table, int width)
    {
        int[] columns = [0];
        foreach (int column in Columns.Select(head => table.Columns.ToList().IndexOf(head)).Where(static c => c > 0))
        {
            Table wider = TableText.Part(table, [.. columns, column]);
            columns = TableText.WidthOf(wider) <= width ? [.. columns, column] : columns;
        }

        return TableText.Part(table, columns);
    }

    private static IEnumerable<string> Wrapped(string text, int width)
    {
        string line = "";
        foreach (string word in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (line.Length > 0 && line.Length + 1 + word.Length > width)
            {
                yield return line;
                line = "";
            }

            line += (line.Length > 0 ? " " : "") + word;
        }

        yield return line;
    }
}

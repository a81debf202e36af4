namespace Weir.Lab.Report.Writing;

/// <summary>The content of a report for people, at a terminal or in a file, before it is written.</summary>
internal sealed record TextReport(string Title)
{
    /// <summary>Groups of keys and values: that of the run, and behind it others, such as one for each arm.</summary>
    public required IReadOnlyList<IReadOnlyList<(string Key, string Value)>> Groups { get; init; }

    public required IReadOnlyList<Table> Tables { get; init; }

    /// <summary>The remarks at the end, one for each line.</summary>
    public required IReadOnlyList<string> Lines { get; init; }

    public void Write(TextWriter output, TextStyle style)
    {
        output.WriteLine(Title);
        for (int i = 0; i < Groups.Count; i++)
        {
            if (i > 0)
            {
                output.WriteLine();
            }

            foreach ((string key, string value) in Groups[i])
            {
                output.WriteLine($"{key}={value}");
            }
        }

        foreach (Table table in Tables)
        {
            output.WriteLine();
            TableText.Write(table, output, style);
        }

        output.WriteLine();
        foreach (string line in Lines)
        {
            output.WriteLine(line);
        }
    }
}

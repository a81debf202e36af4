namespace Weir.Lab.Report.Writing;

/// <summary>Writes a result as Markdown.</summary>
internal static class ResultMarkdown
{
    public static string Write(ResultFile result)
    {
        StringBuilder text = new();
        Answer answer = Answer.Of(result);
        text.Append("# ").Append(Escaped(answer.Sentence)).Append("\n\n");
        if (answer.Ground.Length > 0)
        {
            text.Append(Escaped(answer.Ground)).Append("\n\n");
        }

        if (TextPicture.Of(result, null) is { Count: > 0 } picture)
        {
            text.Append("```text\n").AppendJoin('\n', picture).Append("\n```\n");
        }

        foreach (Table table in ResultTables.Summary(result))
        {
            Append(text, table);
        }

        text.Append("\n## What to know\n\n");
        foreach (string line in ResultText.Sentences(result))
        {
            text.Append("- ").Append(Escaped(line)).Append('\n');
        }

        text.Append(System.Globalization.CultureInfo.InvariantCulture, $"\n`weir {result.Command}`: {Escaped(result.Work)}\n\n")
            .Append(Escaped(ResultText.Machine(result.Machine))).Append("\n\n");
        foreach ((string name, string value) in result.Machine.Variables.Concat(result.Settings))
        {
            text.Append("- ").Append(Escaped($"{name}={value}")).Append('\n');
        }

        if (result.Source is { } source)
        {
            text.Append("- ").Append(Escaped($"commit={source.Text}")).Append('\n');
        }

        // What was measured from code has no command that repeats it.
        if (result.Arguments.Count > 0)
        {
            text.Append("\n    weir ").AppendJoin(' ', result.Arguments.Select(Quoted)).Append('\n');
        }

        Append(text, ResultTables.Rounds(result));
        return text.ToString();
    }

    private static void Append(StringBuilder text, Table table)
    {
        text.Append("\n## ").Append(table.Title).Append("\n\n");
        AppendRows(text, table);
    }

    /// <summary>An argument as one types it.</summary>
    public static string Quoted(string argument) =>
        argument.Length > 0 && argument.All(static c => char.IsAsciiLetterOrDigit(c) || "-_.,:/=@%".Contains(c, StringComparison.Ordinal))
        ? argument
        : $"'{argument.Replace("'", "'\\''", StringComparison.Ordinal)}'";

    /// <summary>Writes a table without its title.</summary>
    public static void AppendRows(StringBuilder text, Table table)
    {
        text.Append("| ").AppendJoin(" | ", table.Columns.Select(Escaped)).Append(" |\n|");
        for (int i = 0; i < table.Columns.Count; i++)
        {
            text.Append(i < table.Labels ? "---|" : "---:|");
        }

        text.Append('\n');
        foreach (IReadOnlyList<string> row in table.Rows)
        {
            text.Append("| ").AppendJoin(" | ", row.Select(Escaped)).Append(" |\n");
        }
    }

    private static string Escaped(string text) => text
        .Replace("|", "\\|", StringComparison.Ordinal)
        .Replace("<", "&lt;", StringComparison.Ordinal)
        .Replace("\n", " ", StringComparison.Ordinal);
}

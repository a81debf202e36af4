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

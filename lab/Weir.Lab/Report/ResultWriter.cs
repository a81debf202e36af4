using Weir.Lab.Report.Page;

namespace Weir.Lab.Report;

/// <summary>
/// Writes results in the forms that the command <c>weir</c> writes. Of one result each form is always the same text, whatever the language of the machine.
/// Thread-safe.
/// </summary>
public static class ResultWriter
{
    /// <summary>For people: the answer in one sentence, the settings, the tables and the findings.</summary>
    /// <param name="result">The result.</param>
    /// <param name="style">How wide, and whether coloured; <see langword="null"/> for <see cref="TextStyle.Plain"/>.</param>
    /// <returns>The text, with a line end after each line.</returns>
    public static string Text(ResultFile result, TextStyle? style = null)
    {
        ArgumentNullException.ThrowIfNull(result);
        using StringWriter text = new();
        ResultText.Write(result, text, style ?? TextStyle.Plain);
        return text.ToString();
    }

    /// <summary>
    /// For programs: all that was measured, as <c>docs/reference/result-files.md</c> has it. <see cref="StoredResults"/> reads it, and so do <c>weir compare</c>,
    /// <c>weir report</c> and <c>weir history</c>.
    /// </summary>
    /// <param name="result">The result.</param>
    /// <returns>An object, indented.</returns>
    public static string Json(ResultFile result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return ResultJson.Write(result);
    }

    /// <summary>For spreadsheets: a line a round, in the order in which they were measured, with every figure unrounded.</summary>
    /// <param name="result">The result.</param>
    /// <returns>Comma-separated values with a head line.</returns>
    public static string Csv(ResultFile result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return ResultCsv.Write(result);
    }

    /// <summary>For pages and pull requests: the same tables as in the text, and all rounds.</summary>
    /// <param name="result">The result.</param>
    /// <returns>Markdown.</returns>
    public static string Markdown(ResultFile result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return ResultMarkdown.Write(result);
    }

    /// <summary>
    /// A page with the tables as pictures too. It needs no network, no script and no other file, and holds the results themselves, so that
    /// <see cref="StoredResults"/> reads them back from it.
    /// </summary>
    /// <param name="results">The results, in the order in which they are to stand.</param>
    /// <returns>A document of HTML.</returns>
    /// <exception cref="ArgumentException">There is no result.</exception>
    public static string Page(params IReadOnlyList<ResultFile> results)
    {
        ArgumentNullException.ThrowIfNull(results);
        return results.Count > 0 ? HtmlPage.Write(results) : throw new ArgumentException("A page needs at least one result.", nameof(results));
    }

    /// <summary>The tables as data, for custom formats.</summary>
    /// <param name="result">The result.</param>
    /// <returns>Those of the arms, their cost, latencies, comparisons and fits, as far as the result has them, and at last that of the rounds.</returns>
    public static IReadOnlyList<Table> Tables(ResultFile result)
    {
        ArgumentNullException.ThrowIfNull(result);
        return [.. ResultTables.Summary(result), ResultTables.Rounds(result)];
    }

    /// <summary>The latencies of each arm in the form of HdrHistogram's plotters.</summary>
    /// <param name="result">The result.</param>
    /// <param name="name">How the names of the files begin.</param>
    /// <returns>Name and text of each file; none when nothing has a latency.</returns>
    public static IReadOnlyList<(string File, string Text)> Latencies(ResultFile result, string name)
    {
        ArgumentNullException.ThrowIfNull(result);
        ArgumentException.ThrowIfNullOrEmpty(name);
        return [.. LatencyFiles.Of(result, name)];
    }
}

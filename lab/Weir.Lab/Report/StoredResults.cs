using System.Text.RegularExpressions;

namespace Weir.Lab.Report;

/// <summary>Reads results back: from their files, from pages that were made of them, and from reports of BenchmarkDotNet.</summary>
public static partial class StoredResults
{
    /// <summary>The results of a file: one of a result file or report, all of a page.</summary>
    /// <exception cref="ResultFileException">The file has none.</exception>
    public static IReadOnlyList<ResultFile> Read(string path)
    {
        if (!path.EndsWith(".html", StringComparison.OrdinalIgnoreCase))
        {
            return [Report(path) ?? ResultJson.Read(path)];
        }

        ResultFile[] results = [.. Embedded().Matches(ResultJson.TextOf(path, "page")).Select(m => ResultJson.Parse(m.Groups[1].Value, path))];
        return results.Length > 0 ? results : throw new ResultFileException($"'{path}' is not a page that this program made.");
    }

    // What cannot be read is said by the reader of result files.
    private static ResultFile? Report(string path)
    {
        try
        {
            string text = File.ReadAllText(path);
            return text.Contains("\"HostEnvironmentInfo\"", StringComparison.Ordinal)
                ? BenchmarkDotNetReport.Find(text, path, File.GetLastWriteTime(path))
                : null;
        }
        catch (Exception e) when (e is UnauthorizedAccessException || (e is IOException and not ResultFileException))
        {
            return null;
        }
    }

    [GeneratedRegex("<script type=\"application/json\" id=\"[^\"]*result\">(.*?)</script>", RegexOptions.Singleline)]
    private static partial Regex Embedded();
}

using System.Globalization;
using System.Text.RegularExpressions;

namespace Weir.Site.Pictures;

/// <summary>Reads the tables of a page of docs/results.</summary>
public static partial class ResultPage
{
    /// <exception cref="SiteException">A time is written in no unit of the pages.</exception>
    public static IEnumerable<ResultRow> Read(string text)
    {
        foreach (Match part in Measured().Matches(text))
        {
            foreach (Match row in Row().Matches(part.Groups[2].Value))
            {
                yield return new(
                    part.Groups[1].Value, row.Groups[1].Value, row.Groups[2].Value,
                    Seconds(row.Groups[3].Value), Seconds(row.Groups[4].Value), Seconds(row.Groups[5].Value));
            }
        }
    }

    /// <summary>What a page says of a class of benchmarks; null if it has none.</summary>
    public static string? Section(string text, string suite) =>
        Measured().Matches(text).FirstOrDefault(part => part.Groups[1].Value == suite)?.Groups[2].Value;

    private static double Seconds(string time)
    {
        string[] parts = time.Split(' ');
        double unit = parts[^1] switch
        {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1,
            _ => throw new SiteException($"A time of the results must end in ns, us, ms or s; it is '{time}'."),
        };
        return double.Parse(parts[0], CultureInfo.InvariantCulture) * unit;
    }

    [GeneratedRegex("<!-- measured (\\w+) -->(.*?)<!-- /measured -->", RegexOptions.Singleline)]
    private static partial Regex Measured();

    [GeneratedRegex(@"^\| *([^|]*?) *\| (\w+) \| ([\d.]+ \w+) \| ([\d.]+ \w+)\.\.([\d.]+ \w+) \|", RegexOptions.Multiline)]
    private static partial Regex Row();
}

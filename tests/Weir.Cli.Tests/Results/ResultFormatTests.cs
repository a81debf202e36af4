using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using System.Text.RegularExpressions;
using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.TestKit;

namespace Weir.Cli.Tests.Results;

/// <summary>The page about result files says what they have: no field more, none less.</summary>
public partial class ResultFormatTests
{
    private static readonly string Page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "reference", "result-files.md"));

    [Fact]
    public void Page_Json_HasTheFieldsThatAreWritten() => Assert.Equal(Fields(typeof(ResultFile), ""), Documented(json: true));

    [Fact]
    public void Page_Csv_HasTheColumnsThatAreWritten() => Assert.Equal(ResultCsv.Columns, Documented(json: false));

    [Fact]
    public void Page_Version_IsTheOneThatIsWritten() =>
        Assert.Contains($"the version of the format: {ResultFile.CurrentVersion} |", Page, StringComparison.Ordinal);

    [Fact]
    public void Json_OfAResult_WritesNoOtherFields()
    {
        using JsonDocument document = JsonDocument.Parse(ResultJson.Write(SampleResults.Scaling()));

        Assert.Empty(Paths(document.RootElement, "").Distinct().Except(Documented(json: true)));
    }

    [Fact]
    public void Summary_OfAnArm_HasTheMedianWithItsIntervalAndThePercentilesThatCanBeTold()
    {
        ResultFile result = SampleResults.Scaling();

        ArmSummary summary = result.Summary[0];

        Assert.Equal((result.Arms[0].Name, 1, 6), (summary.Arm, summary.Workers, summary.Rounds));
        Assert.Equal(result.Arms[0].Rate().Median, summary.Rate);
        Assert.True(summary.RateLow <= summary.Rate && summary.Rate <= summary.RateHigh);
        Assert.Equal(1 - (2.0 / 64), summary.RateLevel, 12);
        Assert.Equal(["start", "intended_start"], summary.Latency.Select(static l => l.From));
        LatencyFigures latency = summary.Latency[0];
        Assert.Equal(12_000, latency.Count);
        Assert.Equal([(50, 6_000, 6), (90, 1_200, 6), (99, 120, 6), (99.9, 12, 6), (99.99, 1, 0)],
            latency.Percentiles.Select(static p => (p.Percentile, p.Beyond, p.Rounds)));
        Assert.All(latency.Percentiles.Where(static p => p.Rounds > 0), static p => Assert.InRange(p.MedianNs!.Value, p.LowNs!.Value, p.HighNs!.Value));
    }

    [Fact]
    public void Csv_OfARound_HasPercentilesIntervalAndSource()
    {
        string[] lines = ResultCsv.Write(SampleResults.Scaling()).Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Dictionary<string, string> first = lines[0].Split(',').Zip(lines[1].Split(',')).ToDictionary(static c => c.First, static c => c.Second);

        Assert.Equal(("2000", ""), (first["service_count"], first["service_p99_99_ns"]));
        Assert.True(int.Parse(first["service_p50_ns"], null) < int.Parse(first["service_p99_9_ns"], null));
        Assert.Equal(("false", 40), (first["clean"], first["commit"].Length));
        Assert.True(double.Parse(first["arm_rate_low"], null) <= double.Parse(first["arm_rate_median"], null));
    }

    [Fact]
    public void Parse_OfTheFirstVersion_IsReadWithoutSourceAndSummary()
    {
        string text = ResultJson.Write(SampleResults.Scaling() with { Source = null }).Replace("\"version\": 2", "\"version\": 1", StringComparison.Ordinal);
        text = Kind().Replace(text, "");

        ResultFile read = ResultJson.Parse(text, "f");

        Assert.Equal((1, null), (read.Version, read.Source));
        Assert.Equal(Verdict.Slower, read.Comparisons[0].Verdict);
        Assert.Equal(12, read.Summary.Count);
    }

    private static IEnumerable<string> Documented(bool json)
    {
        string section = Page[Page.IndexOf(json ? "## JSON" : "## CSV", StringComparison.Ordinal)..];
        section = json ? section[..section.IndexOf("## CSV", StringComparison.Ordinal)] : section;
        return Row().Matches(section).Select(static m => m.Groups[1].Value);
    }

    // As the serializer sees the types, in the order in which it writes them.
    private static IEnumerable<string> Fields(Type type, string path)
    {
        JsonTypeInfo info = ResultJson.Indented.GetTypeInfo(type);
        return info.Kind switch
        {
            JsonTypeInfoKind.Object =>
                info.Properties.Where(static p => p.Get is not null).SelectMany(p => Fields(p.PropertyType, path.Length > 0 ? $"{path}.{p.Name}" : p.Name)),
            JsonTypeInfoKind.Enumerable => Fields(info.ElementType!, path + "[]"),
            _ => [path],
        };
    }

    private static IEnumerable<string> Paths(JsonElement element, string path) => element.ValueKind switch
    {
        JsonValueKind.Object when path is "settings" or "machine.variables" or "arms[].settings" or "arms[].varied" => [path],
        JsonValueKind.Object => element.EnumerateObject().SelectMany(p => Paths(p.Value, path.Length > 0 ? $"{path}.{p.Name}" : p.Name)),
        JsonValueKind.Array => element.EnumerateArray().SelectMany(e => Paths(e, path + "[]")),
        _ => [path],
    };

    [GeneratedRegex(@"^\| `([^`]+)` \|", RegexOptions.Multiline)]
    private static partial Regex Row();

    [GeneratedRegex(@",\s*""kind"": ""\w+""")]
    private static partial Regex Kind();
}

using System.Text.RegularExpressions;
using Weir.Cli.Tests.Support;
using Weir.Lab.Report.Page;
using Weir.Lab.Report.Page.Plotting;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Report.Page;

public partial class HtmlPageTests
{
    [Fact]
    public void Page_OfAResult_NeedsNothingElse()
    {
        string page = HtmlPage.Write([SampleResults.Scaling()]);

        Assert.DoesNotContain("http", page, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain("<link rel=\"stylesheet\"", page, StringComparison.Ordinal);
        Assert.DoesNotContain("NaN", page, StringComparison.Ordinal);
        Assert.DoesNotContain("Infinity", page, StringComparison.Ordinal);
        Assert.All(Script().Matches(page), static m => Assert.Contains("application/json", m.Value, StringComparison.Ordinal));
    }

    [Fact]
    public void Page_OfAResult_SaysTheCommitAndThatItWasChanged() =>
        Assert.Contains("<dt>commit</dt><dd>0123456789abcdef0123456789abcdef01234567 with changes</dd>", HtmlPage.Write([SampleResults.Scaling()]),
            StringComparison.Ordinal);

    [Fact]
    public void Page_TextWithMarkup_IsEscaped()
    {
        string page = HtmlPage.Write([SampleResults.Scaling() with { Work = "<script>alert(1)</script>" }]);

        Assert.DoesNotContain("<script>alert", page, StringComparison.Ordinal);
        Assert.Contains("&lt;b&gt;markup", page, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Report_OfAPage_GivesTheSamePage()
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("a.json"), ResultJson.Write(SampleResults.Scaling()), TestContext.Current.CancellationToken);

        LoadResult first = await new CliUnderTest().RunAsync($"report {directory.File("a.json")} -o {directory.File("a.html")}");
        LoadResult second = await new CliUnderTest().RunAsync($"report {directory.File("a.html")} --out {directory.File("b.html")}");

        Assert.Equal((0, 0), (first.ExitCode, second.ExitCode));
        Assert.Equal(
            await File.ReadAllTextAsync(directory.File("a.html"), TestContext.Current.CancellationToken),
            await File.ReadAllTextAsync(directory.File("b.html"), TestContext.Current.CancellationToken));
    }

    [Fact(Timeout = 300_000)]
    public async Task Report_Exports_WriteEachResultBesideThePage()
    {
        using TemporaryDirectory directory = new();
        await File.WriteAllTextAsync(directory.File("a.json"), ResultJson.Write(SampleResults.Scaling()), TestContext.Current.CancellationToken);
        await File.WriteAllTextAsync(directory.File("b.json"), ResultJson.Write(SampleResults.Invalid()), TestContext.Current.CancellationToken);
        string page = Path.Combine(directory.Path, "out", "all.html");

        LoadResult both = await new CliUnderTest().RunAsync($"report {directory.File("a.json")} {directory.File("b.json")} -o {page} --export md,hgrm --quiet");
        LoadResult data = await new CliUnderTest().RunAsync($"report {page} --json");

        Assert.Equal((0, ""), (both.ExitCode, both.Out));
        Assert.True(File.Exists(Path.Combine(directory.Path, "out", "a.md")) && File.Exists(Path.Combine(directory.Path, "out", "b.md")));
        // The invalid one has no round whose latencies count.
        Assert.Equal(24, Directory.EnumerateFiles(Path.Combine(directory.Path, "out"), "*.hgrm").Count());
        Assert.Equal(["scale", "hash"], data.Json.EnumerateArray().Select(static r => r.GetProperty("command").GetString()));
        Assert.False(File.Exists("report.html"));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("report /no/such/file.json", "weir: The result file '/no/such/file.json' cannot be read: ")]
    [InlineData("report /no/such/page.html", "weir: The page '/no/such/page.html' cannot be read: ")]
    [InlineData("report", "weir: ")]
    public async Task Report_BadInput_IsOneClearLine(string arguments, string message)
    {
        LoadResult result = await new CliUnderTest().RunAsync(arguments);

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith(message, result.Error, StringComparison.Ordinal);
        Assert.Equal(1, result.Error.Count(static c => c == '\n'));
    }

    [Fact]
    public void Page_NothingMeasured_StillSaysSo() =>
        Assert.Contains("<h1>Cannot say which is the fastest: nothing was measured to its end.</h1>",
            HtmlPage.Write([SampleResults.Scaling() with { Arms = [], Comparisons = [], Fits = [], Findings = [] }]), StringComparison.Ordinal);

    [Theory]
    [InlineData(new[] { 1.0, 7, 93 }, 100, 6)]
    [InlineData(new[] { 0.0 }, 1, 6)]
    [InlineData(new[] { 0.013 }, 0.015, 4)]
    public void LinearScale_Values_EndsAtARoundNumberAboveThem(double[] values, double high, int mostTicks)
    {
        Scale scale = Scale.Linear(values, Scale.Compact);

        Assert.Equal(high, scale.High, 9);
        Assert.InRange(scale.Ticks.Count, 2, mostTicks);
        Assert.All(values, v => Assert.InRange(scale.Position(v), 0, 1));
    }

    [Theory]
    [InlineData(new[] { 30.0, 4_000 }, 20, 5_000)]
    [InlineData(new[] { 1.0, 1 }, 1, 2)]
    [InlineData(new[] { 3.0, 2e9 }, 2, 2e9)]
    public void LogarithmicScale_Values_LiesBetweenRoundNumbers(double[] values, double low, double high)
    {
        Scale scale = Scale.Logarithmic(values, Scale.Compact);

        Assert.Equal(low, scale.Low, 6);
        Assert.Equal(high, scale.High, 6);
        Assert.All(values, v => Assert.InRange(scale.Position(v), 0, 1));
    }

    [GeneratedRegex("<script[^>]*>")]
    private static partial Regex Script();
}

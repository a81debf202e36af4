using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Results;

public class ResultJsonTests
{
    [Fact]
    public void Write_ThenParse_GivesTheSame()
    {
        string text = ResultJson.Write(SampleResults.Scaling());

        Assert.Equal(text, ResultJson.Write(ResultJson.Parse(text, "f")));
        Assert.Contains("\"per_worker\"", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "'f' is not a result file: ")]
    [InlineData("[]", "'f' is not a result file: write one with --export json.")]
    [InlineData("{}", "'f' is not a result file: write one with --export json.")]
    [InlineData("{\"format\":1,\"version\":1}", "'f' is not a result file: write one with --export json.")]
    [InlineData("{\"format\":\"weir-result\",\"version\":3}", "'f' has version 3 of the format; this program reads versions 1 to 2.")]
    [InlineData("{\"format\":\"weir-result\",\"version\":1}", "'f' is not a result file: ")]
    public void Parse_SomethingElse_SaysSo(string text, string message) =>
        Assert.StartsWith(message, Assert.Throws<ResultFileException>(() => ResultJson.Parse(text, "f")).Message, StringComparison.Ordinal);

    [Fact]
    public void Csv_Rounds_AreOneLineEachInTheirOrder()
    {
        string[] lines = ResultCsv.Write(SampleResults.Scaling()).Split('\n', StringSplitOptions.RemoveEmptyEntries);

        int columns = lines[0].Split(',').Length;
        Assert.Equal(1 + (12 * 6), lines.Length);
        Assert.All(lines, line => Assert.Equal(columns, line.Split(',').Length));
        Assert.Equal(Enumerable.Range(1, 72).Select(static i => $"{i}"), lines.Skip(1).Select(static l => l.Split(',')[0]));
    }

    [Fact]
    public void Markdown_TextWithMarkup_IsEscaped()
    {
        string text = ResultMarkdown.Write(SampleResults.Scaling());

        Assert.Contains("&lt;b>markup", text, StringComparison.Ordinal);
        Assert.Contains("--out 'a directory'", text, StringComparison.Ordinal);
        Assert.All(text.Split('\n').Where(static l => l.StartsWith('|')), static l => Assert.EndsWith("|", l, StringComparison.Ordinal));
    }
}

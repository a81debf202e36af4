using Weir.Lab.Report.Page;
using Weir.Lab.Report.Page.Figures;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Report.Page;

public class ParameterFigureTests
{
    [Fact]
    public void All_TwoParameters_DrawThoseThatAreNumbers()
    {
        ResultFile result = SampleResults.Scaling() with
        {
            Fits = [],
            Comparisons = [],
            Arms = [.. from size in new[] { "1KB", "10KB", "1MB" } from kind in new[] { "fast", "slow" } select Arm(size, kind)],
        };

        Figure figure = Assert.Single(ParameterFigure.All(result));

        Assert.Equal(("by-size", "Throughput by size"), (figure.Id, figure.Title));
        Assert.Equal(["read kind=fast", "read kind=slow"], figure.Legend.Select(static l => l.Name));
        Assert.Equal(6, figure.Data.Rows.Count);
        Assert.Contains("id=\"by-size\"", HtmlPage.Write([result]), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("10", 10)]
    [InlineData("-0.5", -0.5)]
    [InlineData("10us", 1e-5)]
    [InlineData("2 KiB", 2048)]
    [InlineData("1e3", 1000)]
    [InlineData("fast", double.NaN)]
    [InlineData("10x", double.NaN)]
    [InlineData("", double.NaN)]
    public void ValueOf_Text_IsANumberOrNone(string text, double value) => Assert.Equal(value, ParameterFigure.ValueOf(text), 12);

    private static ArmRecord Arm(string size, string kind) => new()
    {
        Name = $"read size={size} kind={kind}",
        Workers = 2,
        Varied = new Dictionary<string, string> { ["size"] = size, ["kind"] = kind },
        Rounds = [new RoundRecord { Order = 1, Operations = 10, Seconds = 1, Rate = 10 + size.Length }],
    };
}

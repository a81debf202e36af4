using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Report.Tables;
using Weir.Lab.Report.Writing;

namespace Weir.Cli.Tests.Report.Tables;

public class TableTextTests
{
    private static readonly Table Wide = new(
        "Figures",
        ["arm", Table.Workers, .. Enumerable.Range(0, 12).Select(static i => $"figure {i}")],
        [.. new[] { "first", "second [x]" }.Select(
            static name => (IReadOnlyList<string>)[name, "4", .. Enumerable.Range(0, 12).Select(static i => $"{i},000.00")])]);

    [Theory]
    [InlineData(40)]
    [InlineData(80)]
    [InlineData(120)]
    public void Write_NarrowTerminal_HasAllFiguresInPartsThatFit(int width)
    {
        string[] lines = Drawn(Wide, width);

        Assert.All(lines, line => Assert.InRange(line.Length, 1, width));
        int parts = lines.Count(static l => l == "Figures");
        Assert.True(parts > 1);
        Assert.Equal(parts, lines.Count(static l => l.Contains("second [x]  ", StringComparison.Ordinal)));
        Assert.All(Enumerable.Range(0, 12), i => Assert.Single(lines, l => $"{l} ".Contains($"figure {i} ", StringComparison.Ordinal)));
        Assert.All(Enumerable.Range(0, 12), i => Assert.Equal(2, lines.Count(l => $" {l} ".Contains($" {i},000.00 ", StringComparison.Ordinal))));
    }

    [Theory]
    [InlineData(true, "\u001b[31mSLOWER\u001b[0m")]
    [InlineData(false, "  SLOWER")]
    public void Write_Verdict_IsColouredWhereColoursAreShown(bool isColored, string shown)
    {
        using StringWriter output = new();

        TableText.Write(new Table("Verdicts", ["arm", "verdict"], [["SLOWER arm", "SLOWER"]]), output, new TextStyle(IsColored: isColored));

        Assert.EndsWith(shown, output.ToString().TrimEnd(), StringComparison.Ordinal);
        Assert.Equal(isColored, output.ToString().Contains('\u001b', StringComparison.Ordinal));
        Assert.Contains("  SLOWER arm   ", output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void Write_NoTerminal_IsOneTable() => Assert.Single(Drawn(Wide, null), static l => l == "Figures");

    [Fact]
    public void Write_FiguresThatFitNowhere_AreWrittenAllTheSame() => Assert.Equal(12, Drawn(Wide, 5).Count(static l => l == "Figures"));

    [Theory]
    [InlineData(80)]
    [InlineData(120)]
    public void Result_OnATerminal_HasTablesThatFit(int width)
    {
        using StringWriter output = new();

        ResultText.Write(
            SampleResults.Scaling() with { Findings = [], Comparisons = [], Settings = new Dictionary<string, string>() }, output, new TextStyle(width));

        Assert.All(output.ToString().Split('\n').Skip(2), line => Assert.InRange(line.Length, 0, width));
    }

    private static string[] Drawn(Table table, int? width)
    {
        using StringWriter output = new();
        TableText.Write(table, output, new TextStyle(width));
        return output.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }
}

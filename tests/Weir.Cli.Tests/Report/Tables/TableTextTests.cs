using Weir.Lab.Report.Tables;

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
    public void Write_NarrowTerminal_IsOneTableWithTheFiguresThatFit(int width)
    {
        string[] lines = Drawn(Wide, width, out IReadOnlyList<string> left);

        Assert.All(lines, line => Assert.InRange(line.Length, 1, width));
        Assert.Single(lines, static l => l == "Figures");
        Assert.Equal(5, lines.Length);
        Assert.NotEmpty(left);
        Assert.All(left, head => Assert.DoesNotContain($"{head} ", lines[1] + " ", StringComparison.Ordinal));
        Assert.Equal(12, left.Count + lines[1].Split("figure").Length - 1);
    }

    [Fact]
    public void Write_NarrowTerminal_KeepsWhatMattersMostAndItsPlace()
    {
        string[] lines = Drawn(Wide with { Important = ["figure 11", "figure 3"] }, 50, out _);

        Assert.Equal("  arm          workers   figure 3   figure 11", lines[1]);
        Assert.Equal("  second [x]         4   3,000.00   11,000.00", lines[^1]);
    }

    [Fact]
    public void Write_NamesThatLeaveNoRoom_AreCutAtTheirBeginning()
    {
        Table table = new("Names", ["arm", "against", "ratio", "verdict"], [[new string('a', 90) + "end", new string('b', 60), "1.000", "SLOWER"]], 2);

        string[] lines = Drawn(table with { Important = ["verdict"] }, 80, out _);

        Assert.All(lines, static line => Assert.InRange(line.Length, 1, 80));
        Assert.Contains("aend  ", lines[^1], StringComparison.Ordinal);
        Assert.EndsWith("SLOWER", lines[^1], StringComparison.Ordinal);
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
    public void Write_NoTerminal_HasAllFigures()
    {
        string[] lines = Drawn(Wide, null, out IReadOnlyList<string> left);

        Assert.Empty(left);
        Assert.All(Enumerable.Range(0, 12), i => Assert.Contains($"figure {i}", lines[1], StringComparison.Ordinal));
    }

    private static string[] Drawn(Table table, int? width, out IReadOnlyList<string> left)
    {
        using StringWriter output = new();
        left = TableText.Write(table, output, new TextStyle(width));
        return output.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }
}

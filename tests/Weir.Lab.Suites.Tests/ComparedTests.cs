using Weir.Lab.Runtimes;
using Weir.Tables.Compared;

namespace Weir.Lab.Suites.Tests;

public class ComparedTests
{
    private const StringComparison Ordinal = StringComparison.Ordinal;

    // The others wait for seconds; a measurement refuses a row whose results are wrong.
    public static TheoryData<int> QuickRows => [.. Enumerable.Range(0, PublishedTables.All.Count).Where(static place => IsQuick(PublishedTables.All[place]))];

    [Theory(Timeout = 300_000)]
    [MemberData(nameof(QuickRows))]
    public async Task Ways_OfARow_GiveTheSameSum(int place)
    {
        TableRow row = PublishedTables.All[place];
        Assert.False(row.Weir is null && row.Platform is null);
        Assert.Equal(row.Expected, row.Weir is null ? row.Expected : await row.Weir());
        Assert.Equal(row.Expected, row.Platform is null ? row.Expected : await row.Platform());
    }

    [Fact]
    public void All_Rows_HaveNamesOfTheirOwnInTheirTable() =>
        Assert.Equal(PublishedTables.All.Count, PublishedTables.All.Select(static row => (row.Table, row.Name)).Distinct().Count());

    [Fact(Timeout = 300_000)]
    public async Task Measure_RowWithWrongResults_Throws()
    {
        TableRow wrong = PublishedTables.All[0] with { Weir = static () => Task.FromResult(1L), Platform = null };
        await Assert.ThrowsAsync<InvalidOperationException>(() => Measurement.OfAsync(wrong, 0, TimeSpan.Zero));
    }

    [Fact]
    public void Reading_Written_IsReadTheSame()
    {
        RowReading reading = new(3, 1.5e6, 2048, double.NaN, double.NaN);
        Assert.Equal(reading, RowReading.Parse(reading.ToString()));
    }

    [Fact]
    public void Render_ReadingsOfTwoRuntimes_HasPublishedAndMeasuredSideBySide()
    {
        string page = ComparedPage.Render(
            "Measured here.",
            ["net8.0", "net10.0"],
            static (runtime, row) => [new(row, runtime == "net8.0" ? 2e6 : 1e6, 2048, row == 0 ? 3e6 : double.NaN, row == 0 ? 1024 : double.NaN)],
            "old\n<!-- notes Page -->\nBy hand.\n<!-- /notes -->\nold");
        Assert.Contains("<!-- notes Page -->\nBy hand.\n<!-- /notes -->", page, StringComparison.Ordinal);
        Assert.Contains(
            "| No advanced features | 500.2 ms, 285.1 KB | 504.0 ms, 285.1 KB | 2.00 ms, 2.00 KB | 1.00 ms, 2.00 KB | 3.00 ms, 1.00 KB | 3.00 ms, 1.00 KB |",
            page,
            StringComparison.Ordinal);
        Assert.Contains("| With CircuitBreaker | 501.9 ms, 512.5 KB | 504.3 ms, 511.5 KB | 2.00 ms, 2.00 KB | 1.00 ms, 2.00 KB | | |\n", page, Ordinal);
    }

    private static bool IsQuick(TableRow row) =>
        (row.Table.StartsWith("Operators", StringComparison.Ordinal) && !row.Name.Contains("sequential", StringComparison.Ordinal))
        || row.Table.StartsWith("Failures", StringComparison.Ordinal);
}

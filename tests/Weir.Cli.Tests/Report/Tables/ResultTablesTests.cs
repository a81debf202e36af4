using Weir.Lab.Latency;
using Weir.Lab.Report.Tables;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Report.Tables;

public class ResultTablesTests
{
    [Fact]
    public void Arms_OfAnyLengthOfRounds_ShowTheRateThatVerdictsUse()
    {
        // Eight workers with operations of 0.7 s do 8 / 0.7 in a second, however the whole operations fall into the rounds.
        ArmRecord arm = Arm("io", (10, 1.4, 11.4), (8, 1.2, 11.5), (8, 1.2, 11.3));

        Table table = ResultTables.Arms(Result(arm))!;

        Assert.Equal("11.40", Cell(table, "operations/s"));
        Assert.Equal("11.30..11.50", Cell(table, "lowest..highest"));
        Assert.Equal(11.4, arm.Rate().Median);
    }

    [Fact]
    public void Modes_OfBothArms_CompareTheSameRates()
    {
        Table table = ResultTables.Modes(Result(Arm("sync", (10, 9, 2), (10, 9, 2)), Arm("async", (10, 3, 4), (10, 3, 4))))!;

        Assert.Equal("0.50", Cell(table, "ratio (sync/async)"));
    }

    [Theory]
    [InlineData(null, false, null)]
    [InlineData(2.84, true, "2.8 ns/op subtracted")]
    [InlineData(2.84, false, "2.8 ns/op included")]
    public void Cost_OfShortOperations_ShowsTheOverheadAndWhetherTheRateIsWithoutIt(double? overhead, bool subtracted, string? expected)
    {
        ArmRecord arm = Arm("lock", (10, 1, 10));
        arm = arm with { Rounds = [arm.Rounds[0] with { OverheadNs = overhead, OverheadSubtracted = subtracted }] };

        Table table = ResultTables.Cost(Result(arm))!;

        Assert.Equal(expected, table.Columns.Contains("overhead") ? Cell(table, "overhead") : null);
    }

    [Fact]
    public void Cost_OfFiles_ShowsTheShareOfTheProcessorsAndTheMostMemory()
    {
        ArmRecord arm = Arm("sync", (10, 2, 5), (10, 2, 5));
        RoundRecord read = arm.Rounds[0] with { Bytes = 1, CpuUserSeconds = 1.5, CpuSystemSeconds = 0.5, PeakResidentBytes = 40 << 20 };
        arm = arm with { Rounds = [read, read with { PeakResidentBytes = 50 << 20 }] };
        ResultFile result = Result(arm);

        Table table = ResultTables.Cost(result with { Machine = result.Machine with { Cores = 4 } })!;

        Assert.Equal(["1.00", "25.0 %", "50 MB"], new[] { "cores", "of the processors", "resident memory" }.Select(head => Cell(table, head)));
        Assert.DoesNotContain("resident memory", ResultTables.Cost(Result(Arm("lock", (10, 1, 10))))!.Columns);
    }

    [Theory]
    [InlineData(96, 99.9, 1_000, 25, null)]
    [InlineData(96, 99, 1_000, 25, null)]
    [InlineData(100, 99, 1_000, 25, "1 us")]
    [InlineData(1_000, 99.9, 1_000, 25, "1 us")]
    [InlineData(1, 50, 1_000, 25, null)]
    [InlineData(2, 50, 1_000, 25, "1 us")]
    [InlineData(1_000, 50, 40, 25, "<50 ns")]
    [InlineData(1_000, 50, 40, 0, "40 ns")]
    public void Percentile_OfTooFewOrTooShort_IsNotTold(int count, double percentile, int nanoseconds, double clock, string? expected)
    {
        LatencyHistogram latency = new();
        for (int i = 0; i < count; i++)
        {
            latency.Record(nanoseconds);
        }

        Assert.Equal(expected, ResultTables.Percentile(latency, percentile, clock));
    }

    private static string Cell(Table table, string head) => table.Rows[0][Array.IndexOf([.. table.Columns], head)];

    private static ArmRecord Arm(string name, params (long Operations, double Seconds, double Rate)[] rounds) => new()
    {
        Name = name,
        Workers = 8,
        Rounds = [.. rounds.Select(static r => new RoundRecord { Operations = r.Operations, Seconds = r.Seconds, Rate = r.Rate })],
    };

    private static ResultFile Result(params ArmRecord[] arms) => new()
    {
        Command = "run",
        Arguments = [],
        Work = "io",
        Unit = "operations",
        StartedAt = DateTimeOffset.UnixEpoch,
        Seconds = 1,
        Machine = MachineRecord.Read(),
        Settings = new Dictionary<string, string>(),
        Arms = arms,
    };
}

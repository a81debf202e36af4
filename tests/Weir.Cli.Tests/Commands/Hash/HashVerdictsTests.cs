using Weir.Cli.Commands.Hash;
using Weir.Cli.Tests.Report.Page;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Hash;

public class HashVerdictsTests
{
    private const long Mebibyte = 1 << 20;

    [Theory]
    [InlineData("Drop", 100, null)]
    [InlineData("Drop", 99.5, null)]
    [InlineData("Drop", 97, "The cache was not cold: 97 MB of 100 MB came from the device.")]
    [InlineData("Drop", 0, "The cache was not cold: 0 B of 100 MB came from the device.")]
    [InlineData("Direct", 0, "The cache was not cold: 0 B of 100 MB came from the device.")]
    [InlineData("Warm", 0, null)]
    [InlineData("Warm", 40, "The cache was not warm: 40 MB of 100 MB came from the device.")]
    public void Problem_BytesFromTheDevice_ProveTheCache(string cache, double megabytesRead, string? problem) =>
        Assert.Equal(problem, HashRound.Problem(Order(Enum.Parse<CacheMode>(cache)), 100, 100 * Mebibyte, (long)(megabytesRead * Mebibyte)));

    [Fact]
    public void Problem_FileMissing_IsSaid() =>
        Assert.Equal("99 files were hashed instead of 100.", HashRound.Problem(Order(CacheMode.Warm), 99, 99 * Mebibyte, 0));

    [Fact]
    public void Problem_NoCounter_ProvesNothingButWarm()
    {
        Assert.Contains("no proof", HashRound.Problem(Order(CacheMode.Drop), 100, 100 * Mebibyte, null), StringComparison.Ordinal);
        Assert.Null(HashRound.Problem(Order(CacheMode.Warm), 100, 100 * Mebibyte, null));
    }

    [Theory]
    [InlineData(1.99, 0.4, 16, "1.99 of 2 cores")]
    [InlineData(1.2, 0.02, 16, "1.20 of 2 cores, and 2 % of the machine idle; others used the rest")]
    [InlineData(0.8, 0.5, 0.1, "0.80 of 2 cores, and 0.1 reads waiting on average")]
    [InlineData(0.8, 0.5, 12, null)]
    public void CpuBound_ProcessorsOrDevice_IsTold(double cores, double idle, double waiting, string? why) =>
        Assert.Equal(why, HashVerdicts.CpuBound(Arm("sync", cores, idle, waiting), 2));

    [Fact]
    public void Judge_CpuBound_IsRefusedAsAnIoResult()
    {
        ResultFile judged = HashVerdicts.Evaluate(Result(Arm("sync", 1.99, 0, 0)), interleaved: true);

        Assert.Contains(judged.Findings, static f =>
            f.Level == FindingLevel.Doubt && f.Text.Contains("CPU-bound (sync x 16: 1.99 of 2 cores). This is not an I/O result", StringComparison.Ordinal));
        Assert.DoesNotContain(judged.Findings, static f => f.Text.StartsWith("I/O-bound", StringComparison.Ordinal));
    }

    [Fact]
    public void Judge_NeighboursTookTheProcessors_IsNotTheCostOfHashing()
    {
        Finding finding = Assert.Single(HashVerdicts.Evaluate(Result(Arm("sync", 1.2, 0.02, 16)), interleaved: true).Findings,
            static f => f.Text.StartsWith("CPU-bound", StringComparison.Ordinal));

        Assert.Contains("neither an I/O result nor the cost of hashing", finding.Text, StringComparison.Ordinal);
        Assert.DoesNotContain("shows the cost of hashing", finding.Text, StringComparison.Ordinal);
    }

    [Fact]
    public void Judge_DeviceDecides_IsAnIoResult() =>
        Assert.Contains(HashVerdicts.Evaluate(Result(Arm("sync", 0.5, 0.6, 14)), interleaved: true).Findings,
            static f => f is { Level: FindingLevel.Note, Text: "I/O-bound: the device limited the rates." });

    [Theory]
    [InlineData("async", "queued for 5 pool threads or a processor.")]
    [InlineData("foreach", "queued for 5 pool threads or a processor.")]
    [InlineData("sync", "were being hashed, or waited for a processor.")]
    [InlineData("direct", "were being hashed, or waited for a processor.")]
    public void Judge_FewReadsOfManyFilesWait_SaysWhereTheOthersWere(string arm, string where)
    {
        Finding finding = Assert.Single(HashVerdicts.Evaluate(Result(Arm(arm, 0.5, 0.6, 2.5, max: 6)), interleaved: true).Findings,
            static f => f.Text.Contains("the others", StringComparison.Ordinal));

        Assert.Equal($"{arm} x 16: 15.5 files were open on average, but 2.5 reads waited in the kernel (at most 6): the others {where}", finding.Text);
    }

    [Fact]
    public void Judge_OtherChecksum_IsInvalid()
    {
        ArmRecord wrong = Arm("async", 0.5, 0.6, 8);
        ResultFile judged =
            HashVerdicts.Evaluate(Result(Arm("sync", 0.5, 0.6, 8), wrong with { Rounds = [wrong.Rounds[0] with { Checksum = "2" }] }), interleaved: true);

        Assert.Contains(judged.Findings, static f => f is { Level: FindingLevel.Invalid, Text: "The hashes of the same files differ between rounds." });
    }

    [Theory]
    [InlineData(1, true, "sync x 16: 1 of 5 rounds was left out. Cold.", FindingLevel.Doubt)]
    [InlineData(2, true, "sync x 16: 2 of 5 rounds were left out. Cold.", FindingLevel.Invalid)]
    [InlineData(1, false, "sync x 16: Cold.", FindingLevel.Invalid)]
    public void Judge_RoundsOfAnotherCache_AreLeftOutIfTheyAreFew(int wrong, bool disturbed, string text, FindingLevel level)
    {
        ArmRecord arm = Arm("sync", 0.5, 0.6, 8);
        arm = arm with { Rounds = [.. Enumerable.Range(0, 5).Select(i => arm.Rounds[0] with { Problem = i < wrong ? "Cold." : null, Disturbed = disturbed })] };

        Finding finding = Assert.Single(
            HashVerdicts.Evaluate(Result(arm), interleaved: true).Findings, static f => f.Text.Contains("Cold", StringComparison.Ordinal));

        Assert.Equal((text, level), (finding.Text, finding.Level));
    }

    private static HashOrder Order(CacheMode cache) => new()
    {
        Directory = "d",
        Files = 100,
        FileSize = Mebibyte,
        Arm = HashArm.Sync,
        Cache = cache,
        Workers = 16,
        Buffer = 4096,
    };

    private static ArmRecord Arm(string name, double cores, double idle, double waiting, double max = 16) => new()
    {
        Name = name,
        Workers = 16,
        Rounds =
        [
            new RoundRecord
            {
                Operations = 10,
                Seconds = 1,
                Rate = 10,
                CpuUserSeconds = cores,
                MachineIdle = idle,
                Open = 15.5,
                OpenMax = 16,
                InFlight = waiting,
                InFlightMax = max,
                PoolThreads = 5,
                Checksum = "1",
            },
        ],
    };

    private static ResultFile Result(params ArmRecord[] arms) =>
        SampleResults.Scaling() with { Arms = arms, Findings = [], Comparisons = [], Fits = [], Machine = MachineRecord.Read() with { Cores = 2 } };
}

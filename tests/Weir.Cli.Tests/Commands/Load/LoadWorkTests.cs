using System.Buffers.Binary;
using System.CommandLine;
using System.Security.Cryptography;
using System.Text;
using Weir.Cli.Commands.Load;
using Weir.Cli.Kit.Options;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.Lab.Workloads;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadWorkTests
{
    [Theory(Timeout = 300_000)]
    [InlineData("cpu --grain 1us", 2000)]
    [InlineData("io --grain 200us", 20, Explicit = true)]
    [InlineData("mixed --grain 2us", 200, Explicit = true)]
    [InlineData("alloc --grain 100B", 2000, Explicit = true)]
    [InlineData("halves --grain 2us", 100, Explicit = true)]
    [InlineData("heavy-tail --grain 1us", 1000, Explicit = true)]
    [InlineData("hash --grain 100B", 500)]
    [InlineData("delay --grain 100us", 20, Explicit = true)]
    [InlineData("yield", 500, Explicit = true)]
    [InlineData("lock", 500, Explicit = true)]
    [InlineData("channel", 500)]
    [InlineData("http", 30)]
    [InlineData("dataflow", 500)]
    [InlineData("dataflow-inbox", 500, Explicit = true)]
    public async Task Load_Workload_GivesTheSameVerifiedResultEverywhere(string workload, int count)
    {
        LoadResult result =
            await CliUnderTest.LoadAsync($"--workload {workload} --count {count} --batch-size {count / 3} --concurrency 4 --peers --trials 1 --json");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(workload.Split(' ')[0], result.File.Settings["workload"]);
        Assert.All(result.Figures.Values, one => Assert.Equal(count, one!.Processed));
        Assert.Single(result.Figures.Values.Select(static f => f!.Checksum).Distinct());
    }

    [Theory]
    [InlineData("noop", 500_000)]
    [InlineData("alloc", 500_000)]
    [InlineData("cpu", 100_000)]
    [InlineData("cpu --grain 3ms", 300)]
    [InlineData("cpu --grain 100ns", 500_000)]
    [InlineData("cpu --grain 10s", 1)]
    [InlineData("io", 1000)]
    [InlineData("mixed", 9000)]
    public void Read_NoCount_TakesAsManyAsRunInAboutASecond(string workload, int count)
    {
        LoadSettings settings = SettingsOf("--workload " + workload);

        Assert.Equal(count, settings.Count);
        Assert.Equal(count, settings.BatchSize);
        Assert.Equal(Math.Min(count / 50, 10_000), settings.Warmup);
    }

    [Theory]
    [InlineData("cpu", 10_000)]
    [InlineData("cpu --grain 100ns", 100)]
    [InlineData("cpu --grain 2.5us", 2_500)]
    [InlineData("cpu --grain 10s", 10_000_000_000)]
    [InlineData("io", 1_000_000)]
    [InlineData("mixed --grain 7US", 7_000)]
    public void Read_GrainOfTime_IsExact(string workload, long nanoseconds) =>
        Assert.Equal(nanoseconds, SettingsOf("--workload " + workload).Grain.TotalNanoseconds);

    [Theory]
    [InlineData("alloc", 1024)]
    [InlineData("alloc --grain 32B", 32)]
    [InlineData("alloc --grain 1mb", 1024 * 1024)]
    public void Read_GrainOfBytes_IsExact(string workload, int bytes) =>
        Assert.Equal(bytes, SettingsOf("--workload " + workload).GrainBytes);

    [Theory(Timeout = 300_000)]
    [InlineData("noop", Explicit = true)]
    [InlineData("io --grain 100us")]
    public async Task Load_FailRate_FailsTheSameItemsEverywhereAndAccountsForThem(string workload)
    {
        const int count = 400;
        int expected = Enumerable.Range(0, count).Count(static item => Share.IsPicked(item, 0.05, salt: 2));
        Assert.InRange(expected, 8, 40);

        LoadResult result = await CliUnderTest.LoadAsync($"--workload {workload} --fail-rate 0.05 --count {count} --batch-size 150 --peers --trials 2 --json");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(10, result.Figures.Count);
        foreach (PassFigures? one in result.Figures.Values)
        {
            Assert.Equal(expected, one!.Failed);
            Assert.Equal(count, one!.Processed);
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_FailRate_IsAKeyOfTheText()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--fail-rate 1 --runtime concurrent --count 50 --trials 1");

        Assert.Equal("50", result.Value("failed"));
        Assert.Equal("50", result.Value("processed"));
    }

    [Fact]
    public void IsPicked_Shares_ArePickedInProportion()
    {
        foreach (double share in (double[])[0, 0.001, 0.1, 0.5, 1])
        {
            int picked = Enumerable.Range(0, 100_000).Count(item => Share.IsPicked(item, share, salt: 2));
            Assert.InRange(picked, (share * 100_000) - (share is 0 or 1 ? 0 : 500), (share * 100_000) + (share is 0 or 1 ? 0 : 500));
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Timeout_AccountsForItemsThatRanOutOfTime()
    {
        // So long that an item does not end while the thread that watches the limit is held up.
        LoadResult result = await CliUnderTest.LoadAsync("--workload io --grain 5s --timeout 0.001 --count 3 --warmup 0 --trials 1 --details");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(["3", "3", "3", "3"], result.Values("timed_out"));
        Assert.Equal(["3", "3", "3", "3"], result.Values("processed"));
        Assert.Equal("1 ms", result.Value("timeout"));
    }

    [Theory(Timeout = 300_000)]
    [InlineData("alpha\nbeta\n\ngamma\n")]
    [InlineData("alpha\r\nbeta\r\n\r\ngamma")]
    public async Task Load_Input_HashesEachLine(string content)
    {
        using TemporaryFile file = new(content);

        LoadResult result = await CliUnderTest.LoadAsync($"--input {file.Path} --peers --trials 1 --json");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(file.Path, result.File.Settings["input"]);
        Assert.Equal("hash", result.File.Settings["workload"]);
        Assert.Equal(10, result.Figures.Count);
        string expected = ChecksumOf("alpha", "beta", "", "gamma");
        foreach (PassFigures? one in result.Figures.Values)
        {
            Assert.Equal((4, expected), (one!.Processed, one.Checksum));
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_InputAndCount_TakesTheLinesInTurn()
    {
        using TemporaryFile file = new("alpha\nbeta\n");

        LoadResult result = await CliUnderTest.LoadAsync($"--input {file.Path} --count 5 --runtime parallel --trials 1");

        Assert.Equal("5", result.Value("processed"));
        Assert.Equal(ChecksumOf("alpha", "beta", "alpha", "beta", "alpha") + " (verified)", result.Value("checksum"));
    }

    [Fact]
    public void LinesWorkload_KnownLine_GivesTheFirstBitsOfItsSha256()
    {
        using TemporaryFile file = new("abc");
        LinesWorkload work = LineFile.Read(new OptionValue("--input", file.Path)).Workload();

        // SHA-256 of "abc" begins with ba7816bf; its highest bit is left out.
        Assert.Equal(0x3a7816bf, work.Expect(0));
    }

    private static LoadSettings SettingsOf(string arguments)
    {
        LoadOptionSet options = new();
        Command command = new("load");
        options.AddTo(command);
        return options.Read(command.Parse(arguments), static _ => null);
    }

    private static string ChecksumOf(params string[] lines)
    {
        long sum = 0;
        for (int i = 0; i < lines.Length; i++)
        {
            long result = BinaryPrimitives.ReadInt32BigEndian(SHA256.HashData(Encoding.UTF8.GetBytes(lines[i]))) & int.MaxValue;
            sum += result * ((2 * i) + 1);
        }

        return sum.ToString("x16", null);
    }
}

using System.Text.Json;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Hash;

[Collection(AloneInTheProcess.Name)]
public class HashRunTests
{
    private const string Small = "--files 6 --size 40KiB --cache warm --quiet";

    [Theory(Timeout = 300_000)]
    [InlineData("sync", "")]
    [InlineData("async", "")]
    [InlineData("foreach", "")]
    [InlineData("sync", "--buffer 1000", Explicit = true)]
    [InlineData("async", "--buffer 64KiB", Explicit = true)]
    [InlineData("foreach", "--buffer 8KiB --inflight 1", Explicit = true)]
    [InlineData("async", "--inflight 1 --min-threads 4", Explicit = true)]
    public async Task Hash_EachArm_HashesEachFileOnceAndAlike(string arm, string options)
    {
        using TemporaryDirectory directory = new();
        ResultFile plain = await RunAsync(directory, "--arms sync --workers 1 --rounds 1");

        ResultFile result = await RunAsync(directory, $"--arms {arm} --workers 3 --rounds 2 {options}");

        ArmRecord measured = Assert.Single(result.Arms);
        Assert.Equal(2, measured.Counted.Count);
        Assert.All(measured.Rounds, static r => Assert.Equal(6, r.Operations));
        Assert.All(measured.Rounds, r => Assert.Equal(plain.Arms[0].Rounds[0].Checksum, r.Checksum));
        Assert.All(measured.Rounds, static r => Assert.Equal(6, measuredLatencies(r)));
        if (arm != "foreach")
        {
            Assert.All(measured.Rounds, static r => Assert.Equal(6, r.PerWorker.Sum()));
        }

        static long measuredLatencies(RoundRecord round) => Lab.Latency.HistogramCodec.Decode(round.Service!).Count;
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Hash_InFlightLimit_IsKept()
    {
        using TemporaryDirectory directory = new();

        ResultFile result = await RunAsync(directory, "--arms sync,async,foreach --workers 5 --rounds 1 --inflight 2");

        Assert.All(result.Arms, static a => Assert.InRange(a.Rounds[0].OpenMax!.Value, 1, 2));
    }

    [Fact(Timeout = 300_000)]
    public async Task Hash_SeveralArms_AreMeasuredThereAndBack()
    {
        using TemporaryDirectory directory = new();

        ResultFile result = await RunAsync(directory, "--arms sync,async --workers 1,2 --rounds 2");

        string[] order =
            [.. result.Arms.SelectMany(static a => a.Rounds, static (a, r) => (a.Label, r.Order)).OrderBy(static x => x.Order).Select(static x => x.Label)];
        Assert.Equal(["sync x 1", "async x 1", "sync x 2", "async x 2", "async x 2", "sync x 2", "async x 1", "sync x 1"], order);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("", true, Explicit = true)]
    [InlineData("--quiet", false, Explicit = true)]
    public async Task Hash_Progress_SaysWhatComesAndHowLongItTakes(string options, bool isTold)
    {
        using TemporaryDirectory directory = new();

        LoadResult result = await WarmAsync(
            $"hash --input {directory.Path} --files 6 --size 40KiB --cache warm --arms sync,async --workers 1 --rounds 2 {options}");

        Assert.Equal(0, result.ExitCode);
        string[] lines = result.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        if (!isTold)
        {
            Assert.Empty(lines);
            return;
        }

        Assert.Equal(
            "weir: 4 rounds of 240 KB, each in a process of its own; how long they take is known after the first",
            Assert.Single(lines, static l => l.StartsWith("weir: ", StringComparison.Ordinal)));
        Assert.All(lines.Where(static l => l.StartsWith('[') && l.Contains(" x 1: ", StringComparison.Ordinal)).SkipLast(1), static l =>
            Assert.Matches(@"tasks/s, about \d+ s left$", l));
        Assert.EndsWith("tasks/s", lines[^1], StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Hash_FilesPresent_AreKeptAndMissingOrCutOnesMadeAnew()
    {
        using TemporaryDirectory directory = new();
        await RunAsync(directory, "--workers 1 --rounds 1");
        byte[] first = await File.ReadAllBytesAsync(directory.File("weir-00000.bin"), TestContext.Current.CancellationToken);
        File.Delete(directory.File("weir-00001.bin"));
        await File.WriteAllTextAsync(directory.File("weir-00002.bin"), "cut", TestContext.Current.CancellationToken);

        await RunAsync(directory, "--workers 1 --rounds 1");

        Assert.Equal(first, await File.ReadAllBytesAsync(directory.File("weir-00000.bin"), TestContext.Current.CancellationToken));
        Assert.Equal(6, Directory.EnumerateFiles(directory.Path).Count());
        Assert.All(Directory.EnumerateFiles(directory.Path), static f => Assert.Equal(40 * 1024, new FileInfo(f).Length));
        Assert.Empty(Directory.EnumerateDirectories(directory.Path));
    }

    [Fact(Timeout = 300_000)]
    public async Task Hash_Text_HasRatesAndPairsWithFiveDecimalsAndTheRatio()
    {
        using TemporaryDirectory directory = new();

        LoadResult result = await WarmAsync(
            $"hash --input {directory.Path} --files 6 --size 1MiB --cache warm --quiet --arms sync,async --workers 2 --rounds 2");

        // The pairs are written as in the tables that they are compared with, all others with the digits that matter.
        Assert.Equal(0, result.ExitCode);
        Assert.Matches(@"(?m)^  sync\s+2\s+[\d.,]{1,6}\s", result.Out);
        Assert.Matches(@"(?m)^  2\s+\d+\.\d{5}\s+\d+\.\d{5}\s", result.Out);
        Assert.Contains("ratio (sync/async)", result.Out, StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', result.Out + result.Error);
        Assert.Empty(result.Error);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Hash_Exports_AreAllWritten()
    {
        using TemporaryDirectory directory = new();
        string output = directory.File("out");

        LoadResult result =
            await WarmAsync($"hash --input {directory.File("in")} {Small} --workers 2 --rounds 2 --export md,csv,json,html --out {output}");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(3, (await File.ReadAllLinesAsync(Path.Combine(output, "weir-hash.csv"), TestContext.Current.CancellationToken)).Length);
        Assert.StartsWith(
            "# weir hash", await File.ReadAllTextAsync(Path.Combine(output, "weir-hash.md"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
        Assert.StartsWith("<!doctype html>", await File.ReadAllTextAsync(Path.Combine(output, "weir-hash.html"), TestContext.Current.CancellationToken),
            StringComparison.Ordinal);
        Assert.Equal(2, ResultJson.Read(Path.Combine(output, "weir-hash.json")).Arms[0].Rounds.Count);
    }

    [Theory(Timeout = 300_000)]
    [InlineData("sync", Explicit = true)]
    [InlineData("async", Explicit = true)]
    [InlineData("foreach", Explicit = true)]
    public async Task Hash_LargeFiles_NeedMemoryForTheirReadsOnly(string arm)
    {
        const int workers = 4;
        const int buffer = 64 * 1024;
        using TemporaryDirectory directory = new();

        ResultFile result = await RunAsync(directory, $"--files 12 --size 4MiB --arms {arm} --workers {workers} --rounds 3 --buffer {buffer}");

        // The first round has what the code allocates once. A worker keeps its buffer; 48 MiB of files went through.
        Assert.All(result.Arms[0].Rounds.Skip(1), static r => Assert.InRange(r.AllocatedBytes!.Value, 0, workers * (buffer + (256 * 1024))));
    }

    [Fact(Timeout = 300_000)]
    public async Task Hash_StoppedBefore_MeasuresNothing()
    {
        using TemporaryDirectory directory = new();
        using CancellationTokenSource stop = new();
        await stop.CancelAsync();

        LoadResult result = await new CliUnderTest { Stop = stop.Token }.RunAsync($"hash --input {directory.Path} {Small}");

        Assert.Equal(130, result.ExitCode);
        Assert.Equal("weir: stopped before anything was measured.\n", result.Error);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Hash_InProcessesOfItsOwn_GivesTheSame()
    {
        using TemporaryDirectory directory = new();
        ResultFile here = await RunAsync(directory, "--workers 2 --rounds 1");

        LoadResult result = await WarmAsync($"hash --input {directory.Path} {Small} --workers 1,2 --rounds 1 --json", new CliUnderTest { UseProcesses = true });

        ResultFile there = ResultJson.Parse(result.Out, "output");
        Assert.Equal("", result.Error);
        Assert.Equal(2, there.Arms.Count);
        Assert.All(there.Arms, a => Assert.Equal(here.Arms[0].Rounds[0].Checksum, Assert.Single(a.Rounds).Checksum));
    }

    private static async Task<ResultFile> RunAsync(TemporaryDirectory directory, string options)
    {
        LoadResult result = await WarmAsync(
            $"hash --input {directory.Path} {(options.Contains("--files", StringComparison.Ordinal) ? "--cache warm --quiet" : Small)} {options} --json");
        Assert.Equal("", result.Error);
        Assert.Equal(0, result.ExitCode);
        Assert.Equal(JsonValueKind.Object, result.Json.ValueKind);
        return ResultJson.Parse(result.Out, "output");
    }

    /// <summary>
    /// Measures with a warm page cache. The system may drop pages at any moment. The measurement says so, and is made again, until the test's own limit.
    /// </summary>
    private static async Task<LoadResult> WarmAsync(string line, CliUnderTest? cli = null)
    {
        cli ??= new CliUnderTest();
        LoadResult result = await cli.RunAsync(line);
        while (result.Error.Contains("the cache was not warm", StringComparison.Ordinal))
        {
            result = await cli.RunAsync(line);
        }

        return result;
    }
}

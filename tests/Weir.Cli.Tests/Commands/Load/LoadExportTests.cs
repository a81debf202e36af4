using System.Text.Json;
using Weir.Cli.Tests.Support;
using Weir.Lab.Report.Writing;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Load;

/// <summary>
/// The files of the <c>load</c> command: the same as those of the other commands, so that its results can be compared, kept and shown like theirs.
/// </summary>
public class LoadExportTests
{
    private const string Small = "load --count 100 --warmup 0 --trials 3 --quiet";

    [Fact(Timeout = 300_000)]
    public async Task Load_Exports_HaveAnArmForEachRuntimeAndPeer()
    {
        using TemporaryDirectory directory = new();

        LoadResult result = await new CliUnderTest().RunAsync($"{Small} --peers --concurrency 7 --export md,csv,json,html --out {directory.Path}");

        Assert.Equal(0, result.ExitCode);

        // A Debug build says that it is one.
        Assert.DoesNotContain("round", result.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("wrote", result.Error, StringComparison.Ordinal);
        ResultFile file = ResultJson.Read(directory.File("weir-load.json"));
        Assert.Equal(["direct", "concurrent", "parallel", "auto", "loop"], file.Arms.Take(5).Select(static a => a.Name));
        Assert.Equal([1, 7], file.Arms.Take(2).Select(static a => a.Workers));
        Assert.All(file.Arms, static a => Assert.Equal(3, a.Rounds.Count));
        Assert.All(file.Arms.SelectMany(static a => a.Rounds), static r => Assert.True(r.Operations >= 100 && r.Rate > 0));
        Assert.Equal(Enumerable.Range(1, file.Arms.Count * 3), file.Arms.SelectMany(static a => a.Rounds).Select(static r => r.Order).Order());
        Assert.Equal(file.Arms.Count - 1, file.Comparisons.Count);
        Assert.All(file.Comparisons, static c => Assert.Equal("direct x 1", c.Against));
        Assert.Equal("100", file.Settings["count"]);
        Assert.StartsWith(
            $"# {Answer.Of(file).Sentence}\n", await File.ReadAllTextAsync(directory.File("weir-load.md"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
        Assert.StartsWith(
            "<!doctype html>", await File.ReadAllTextAsync(directory.File("weir-load.html"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
        Assert.Equal(1 + (file.Arms.Count * 3), (await File.ReadAllLinesAsync(directory.File("weir-load.csv"), TestContext.Current.CancellationToken)).Length);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_JsonAndFile_AreViewsOfOneResult()
    {
        using TemporaryDirectory directory = new();

        LoadResult result = await new CliUnderTest().RunAsync($"{Small} --fail-rate 0.2 --json --export json,csv,md --out {directory.Path}");

        ResultFile file = ResultJson.Read(directory.File("weir-load.json"));
        Assert.Equal(ResultJson.Write(file), result.Out.TrimEnd().ReplaceLineEndings("\n"));
        foreach (ArmRecord arm in file.Arms)
        {
            PassFigures figures = PassFigures.Of(arm, file.Arms)!;
            Assert.All(arm.Rounds, r => Assert.Equal((figures.Checksum, 1, 0, figures.Failed), (r.Checksum, r.Passes, r.TimedOut, r.Failures)));
        }

        Assert.NotEmpty(file.Arms[^1].Decisions);
        JsonElement decision = result.Json.GetProperty("arms")[file.Arms.Count - 1].GetProperty("decisions")[0];
        Assert.Equal(["call", "at_seconds", "items", "from", "to", "threads", "in_flight", "reason"], decision.EnumerateObject().Select(static p => p.Name));
        Assert.All(["cdc_concurrency", "cdc_parallel_size", "warmup", "runtime"], name => Assert.Contains(name, file.Settings.Keys));
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Load_OfOtherSizes_ComparesTheArmsThatHaveNone()
    {
        using TemporaryDirectory directory = new();
        await new CliUnderTest().RunAsync($"{Small} --runtime direct --export json --out {directory.File("a")}");
        await new CliUnderTest().RunAsync($"{Small} --runtime direct --concurrency 7 --parallel-size 3 --export json --out {directory.File("b")}");

        LoadResult compared = await new CliUnderTest().RunAsync(
            $"compare {Path.Combine(directory.File("a"), "weir-load.json")} {Path.Combine(directory.File("b"), "weir-load.json")} --json");

        Assert.Single(ResultJson.Parse(compared.Out, "output").Comparisons);
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Load_TwoFiles_CanBeCompared()
    {
        using TemporaryDirectory directory = new();
        await new CliUnderTest().RunAsync($"{Small} --runtime direct --export json --out {directory.File("a")}");
        await new CliUnderTest().RunAsync($"{Small} --runtime direct --export json --out {directory.File("b")}");
        await new CliUnderTest().RunAsync(
            $"{Small} --runtime direct --count 50 --export json --out {directory.File("c")}".Replace("--count 100 ", "", StringComparison.Ordinal));
        string before = Path.Combine(directory.File("a"), "weir-load.json");

        LoadResult same = await new CliUnderTest().RunAsync($"compare {before} {Path.Combine(directory.File("b"), "weir-load.json")} --json");
        LoadResult other = await new CliUnderTest().RunAsync($"compare {before} {Path.Combine(directory.File("c"), "weir-load.json")}");

        Assert.Single(ResultJson.Parse(same.Out, "output").Comparisons);
        Assert.Equal(1, other.ExitCode);
        Assert.Contains("differ in batch_size (100 and 50), count (100 and 50): add --across batch_size,count", other.Error, StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Stopped_ExportsWhatWasDoneAsPartial()
    {
        using TemporaryDirectory directory = new();
        using CancellationTokenSource stop = new();
        CliUnderTest cli = new() { Stop = stop.Token, CreateRuntime = _ => new StoppingRuntime(stop, call: 14) };

        LoadResult result = await cli.RunAsync($"{Small} --batch-size 10 --runtime direct --export json --out {directory.Path}");

        Assert.Equal(130, result.ExitCode);
        ResultFile file = ResultJson.Read(directory.File("weir-load.json"));
        Assert.True(file.Partial);
        Assert.Equal([false, true], file.Arms[0].Rounds.Select(static r => r.Partial));
        Assert.Equal([100, 40], file.Arms[0].Rounds.Select(static r => r.Operations));
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_QuietWatch_IsRefused()
    {
        LoadResult result = await new CliUnderTest().RunAsync($"{Small} --watch");

        Assert.Equal((1, "weir: --quiet cannot be used with --watch, which shows the run.\n"), (result.ExitCode, result.Error));
    }
}

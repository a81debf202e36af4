using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.Results;
using Weir.Bench;
using Weir.Cli.Kit.Hosting;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Bench;

public class BenchArgumentsTests
{
    [Theory]
    [InlineData("--filter * --job dry", "--filter * --job dry", false, false)]
    [InlineData("--filter * --export md,csv --quiet", "--filter * --exporters github csv", false, true)]
    [InlineData("--export json,html,json --out there --json --list flat", "--exporters json html --artifacts there --list flat", true, false)]
    public void Parse_SharedOptions_GetBenchmarkDotNetsWords(string given, string expected, bool json, bool quiet)
    {
        BenchArguments arguments = BenchArguments.Parse(given.Split(' '));

        Assert.Equal(expected, string.Join(' ', arguments.Remaining));
        Assert.Equal((json, quiet), (arguments.Json, arguments.Quiet));
    }

    [Theory]
    [InlineData("--export pdf", "--export must be md, csv, json and html, separated by commas; it is 'pdf'.")]
    [InlineData("--export", "--export must be md, csv, json and html, separated by commas; it is absent.")]
    [InlineData("--out --quiet", "--out must be a directory; it is absent.")]
    [InlineData("--export md --exporters csv", "--export and --exporters mean the same; give only one of them, once.")]
    [InlineData("--out a --artifacts b", "--out and --artifacts mean the same; give only one of them, once.")]
    [InlineData("--export md --export csv", "--export and --exporters mean the same; give only one of them, once.")]
    public void Parse_BadValue_IsOneClearLine(string given, string message) =>
        Assert.Equal(message, Assert.Throws<BadInputException>(() => BenchArguments.Parse(given.Split(' '))).Message);

    [Fact(Timeout = 300_000)]
    public async Task Bench_NoBenchmarkAnswers_EndsWithOne()
    {
        LoadResult result = await new CliUnderTest().RunAsync("eng/bench --filter *.NoSuchBenchmark --quiet");

        Assert.Equal(1, result.ExitCode);
        Assert.Equal("eng/bench: no benchmark was run; to see why, run it without --quiet and --json.\n", result.Error);
        Assert.Empty(result.Out);
    }

    [Fact(Timeout = 300_000)]
    public async Task Bench_Help_HasTheOptionsOfThisProgramToo()
    {
        LoadResult result = await new CliUnderTest().RunAsync("eng/bench --help");

        Assert.All(["--workers", "--export", "--out", "--json", "--quiet"], option => Assert.Contains($"  {option} ", result.Out, StringComparison.Ordinal));
    }

    [Fact(Timeout = 300_000)]
    public async Task Bench_FilesThatCannotBeWritten_AreToldBefore()
    {
        using TemporaryFile file = new("");

        LoadResult result = await new CliUnderTest().RunAsync($"eng/bench --filter *.NoSuchBenchmark --out {file.Path}/in");

        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"eng/bench: '{file.Path}/in/", result.Error, StringComparison.Ordinal);
        Assert.Contains("cannot be written", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public void MissingResults_BuildThatTookTooLong_SaysSoOnceForAll()
    {
        string reason = MissingResults.ReasonOf(
            BuildResult.Failure(GenerateResult.Success(ArtifactsPaths.Empty, []), "The configured timeout 00:02:00 was reached!\nMore."));

        Assert.Equal("it could not be built: The configured timeout 00:02:00 was reached! A longer time is given with --buildTimeout SECONDS.", reason);
        Assert.Equal(
            ["A.X and 1 more have no result: it could not be built.", "B.Y has no result: other"],
            MissingResults.Of([("A.X", "it could not be built."), ("B.Y", "other"), ("A.Z", "it could not be built.")]));
    }
}

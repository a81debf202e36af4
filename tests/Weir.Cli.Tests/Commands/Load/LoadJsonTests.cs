using System.Text.Json;
using Weir.Cli.Tests.Support;
using Weir.Lab.Results;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadJsonTests
{
    [Fact(Timeout = 300_000)]
    public async Task Load_Json_IsTheResultFileWithTheSettingsAndTheFiguresOfEachRuntime()
    {
        LoadResult result =
            await CliUnderTest.LoadAsync("--json --count 5000 --batch-size 500 --timeout 60 --warmup 77 --concurrency 9 --parallel-size 2 --trials 3");

        Assert.Equal(0, result.ExitCode);
        Assert.False(result.File.Partial);
        Assert.Equal(Environment.ProcessorCount, result.File.Machine.Cores);
        Assert.StartsWith("10.", result.File.Machine.Dotnet, StringComparison.Ordinal);
        Dictionary<string, string> settings = new()
        {
            ["runtime"] = "all", ["count"] = "5,000", ["batch_size"] = "500", ["cdc_parallel_size"] = "2", ["cdc_concurrency"] = "9",
            ["timeout"] = "60 s", ["preserve_order"] = "true", ["warmup"] = "77", ["trials"] = "3",
        };
        Assert.All(settings, setting => Assert.Equal(setting.Value, result.File.Settings[setting.Key]));
        JsonElement[] summary = [.. result.Json.GetProperty("summary").EnumerateArray()];
        Assert.Equal(["direct", "concurrent", "parallel", "auto"], summary.Select(static s => s.GetProperty("arm").GetString()));
        foreach (JsonElement pass in summary.Select(static s => s.GetProperty("pass")))
        {
            Assert.Equal(5000, pass.GetProperty("processed").GetInt64());
            Assert.True(pass.GetProperty("elapsed_seconds").GetDouble() > 0);
            Assert.InRange(
                pass.GetProperty("throughput_per_second").GetDouble(),
                pass.GetProperty("throughput_min").GetDouble(),
                pass.GetProperty("throughput_max").GetDouble());
            Assert.True(pass.GetProperty("gc_count").GetDouble() >= 0);
            Assert.True(pass.GetProperty("cpu_seconds_per_million").GetDouble() >= 0);
            Assert.True(pass.GetProperty("bytes_per_item").GetDouble() >= 0);
        }

        Assert.Equal(0, summary[0].GetProperty("pass").GetProperty("ns_above_direct").GetDouble());
        Assert.All(result.File.Arms, static arm => Assert.Equal([5000L, 5000, 5000], arm.Rounds.Select(static r => r.Operations)));
        Assert.All(result.File.Arms.SelectMany(static arm => arm.Rounds), static round => Assert.True(round.PeakResidentBytes > 0));
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_JsonWithPeers_MarksTheRuntimesAndGivesRatios()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--json --count 3000 --batch-size 700 --peers --trials 2");

        Assert.Equal(10, result.Figures.Count);
        Assert.Equal(["direct", "concurrent", "parallel", "auto"],
            result.File.Arms.Select(static a => a.Settings.GetValueOrDefault("runtime")).OfType<string>());
        Assert.Equal(1, result.Figures["loop"]!.RatioToLoop);
        Assert.Equal(1, result.Figures["Parallel.ForEachAsync"]!.RatioToPlatform);
        Assert.True(result.Figures["direct"]!.RatioToPlatform > 0);

        // Equal work: all came to the same checksum, and it was verified.
        Assert.Single(result.Figures.Values.Select(static f => f!.Checksum).Distinct());
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_JsonWithSweep_HasAnArmForEachSize()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--json --count 100 --sweep 2,5 --trials 1");

        Assert.Equal(["direct", "concurrent/2", "concurrent/5", "parallel/2", "parallel/5", "auto"], result.Figures.Keys);
        Assert.Equal([2, 5, 2, 5], result.File.Arms.Where(static a => a.Name is "concurrent" or "parallel").Select(static a => a.Workers));
    }
}

using System.Text.Json;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Load;

public class LoadJsonTests
{
    [Fact(Timeout = 300_000)]
    public async Task Load_Json_HasTheFieldsOfTheReferenceForEachRuntime()
    {
        LoadResult result =
            await CliUnderTest.LoadAsync("--json --count 5000 --batch-size 500 --timeout 60 --warmup 77 --concurrency 9 --parallel-size 2 --trials 3");

        Assert.Equal(0, result.ExitCode);
        Assert.Equal(["direct", "concurrent", "parallel", "auto"], result.Results.Keys);
        foreach (JsonElement one in result.Results.Values)
        {
            Assert.Equal("weir-load", one.GetProperty("benchmark").GetString());
            Assert.StartsWith("10.", one.GetProperty("dotnet").GetString(), StringComparison.Ordinal);
            Assert.Equal(5000, one.GetProperty("count").GetInt32());
            Assert.Equal(500, one.GetProperty("batch_size").GetInt32());
            Assert.Equal(2, one.GetProperty("cdc_parallel_size").GetInt32());
            Assert.Equal(9, one.GetProperty("cdc_concurrency").GetInt32());
            Assert.Equal(60, one.GetProperty("timeout").GetDouble());
            Assert.True(one.GetProperty("preserve_order").GetBoolean());
            Assert.Equal(77, one.GetProperty("warmup").GetInt32());
            Assert.True(one.GetProperty("elapsed_seconds").GetDouble() > 0);
            Assert.True(one.GetProperty("throughput_per_second").GetDouble() > 0);
            Assert.True(one.GetProperty("gc_count").GetDouble() >= 0);
        }
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_Json_HasOurFields()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--json --count 5000 --trials 3");

        JsonElement root = result.Json;
        Assert.False(root.GetProperty("partial").GetBoolean());
        Assert.Equal(Environment.ProcessorCount, root.GetProperty("machine").GetProperty("cores").GetInt32());
        Assert.Equal(3, root.GetProperty("trials").GetInt32());
        Assert.True(DateTimeOffset.TryParse(root.GetProperty("started_at").GetString(), out _));
        Assert.True(root.GetProperty("peak_rss_bytes").GetInt64() > 0);
        JsonElement concurrent = result.Results["concurrent"];
        double median = concurrent.GetProperty("throughput_per_second").GetDouble();
        Assert.InRange(median, concurrent.GetProperty("throughput_min").GetDouble(), concurrent.GetProperty("throughput_max").GetDouble());
        Assert.Equal(5000, concurrent.GetProperty("processed").GetInt64());
        Assert.Equal(15_000, concurrent.GetProperty("measured").GetProperty("items").GetInt64());
        Assert.Equal(3, concurrent.GetProperty("trials").GetArrayLength());
        Assert.Equal([1, 2, 3], concurrent.GetProperty("trials").EnumerateArray().Select(static t => t.GetProperty("round").GetInt32()));
        Assert.Equal(JsonValueKind.Number, concurrent.GetProperty("ns_above_direct").ValueKind);
        Assert.Equal(0, result.Results["direct"].GetProperty("ns_above_direct").GetDouble());
        Assert.True(concurrent.GetProperty("cpu_seconds_per_million").GetDouble() >= 0);
        Assert.True(concurrent.GetProperty("bytes_per_item").GetDouble() >= 0);
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_JsonWithPeers_MarksThemAndGivesRatios()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--json --count 3000 --batch-size 700 --peers --trials 2");

        Assert.Equal(10, result.Results.Count);
        Assert.Equal(6, result.Results.Values.Count(static r => r.GetProperty("peer").GetBoolean()));
        Assert.Equal(1, result.Results["loop"].GetProperty("ratio_to_loop").GetDouble());
        Assert.Equal(1, result.Results["Parallel.ForEachAsync"].GetProperty("ratio_to_foreachasync").GetDouble());
        Assert.True(result.Results["direct"].GetProperty("ratio_to_foreachasync").GetDouble() > 0);

        // Equal work: all came to the same checksum, and it was verified.
        Assert.Single(result.Results.Values.Select(static r => r.GetProperty("checksum").GetString()).Distinct());
    }

    [Fact(Timeout = 300_000)]
    public async Task Load_JsonWithSweep_GivesEachSizeInItsField()
    {
        LoadResult result = await CliUnderTest.LoadAsync("--json --count 100 --sweep 2,5 --trials 1");

        Assert.Equal(2, result.Results["parallel/2"].GetProperty("cdc_parallel_size").GetInt32());
        Assert.Equal(5, result.Results["parallel/5"].GetProperty("cdc_parallel_size").GetInt32());
        Assert.Equal(5, result.Results["concurrent/5"].GetProperty("cdc_concurrency").GetInt32());
    }
}

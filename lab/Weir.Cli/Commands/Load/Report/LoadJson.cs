using System.Text.Json;
using System.Text.Json.Nodes;
using Weir.Cli.Commands.Load.Options;
using Weir.Cli.Runtimes;
using Weir.Lab.Results;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>The view of a result that <c>load --json</c> prints: the fields of the reference script for each arm, and ours behind them.</summary>
internal static class LoadJson
{
    private const string Benchmark = "weir-load";

    public static string Write(ResultFile result, LoadSettings settings)
    {
        JsonObject root = new()
        {
            ["benchmark"] = Benchmark,
            ["started_at"] = result.StartedAt.ToString("O"),
            ["partial"] = result.Partial,
            ["machine"] = Node(result.Machine),
            ["runtime"] = settings.Runtime,
            ["trials"] = settings.Trials,
            ["watched"] = settings.Watch,
            ["workload"] = settings.Workload,
            ["work"] = result.Work,
            ["grain_seconds"] = settings.Grain > TimeSpan.Zero ? settings.Grain.TotalSeconds : null,
            ["grain_bytes"] = settings.GrainBytes > 0 ? settings.GrainBytes : null,
            ["fail_rate"] = settings.FailRate,
            ["sweep"] = Node(settings.Sweep),
            ["input"] = settings.Input?.Path,
            ["peer_degree"] = settings.Peers ? settings.PeerDegree : null,
            ["peak_rss_bytes"] = LoadText.PeakResidentBytes(result),
            ["results"] = new JsonArray([.. LoadRow.Of(result, settings).Select(row => Result(row, result, settings))]),
        };
        return root.ToJsonString(ResultJson.Indented);
    }

    private static JsonObject Result(LoadRow row, ResultFile result, LoadSettings settings)
    {
        JsonObject fields = new()
        {
            // The fields of the reference script.
            ["benchmark"] = Benchmark,
            ["dotnet"] = result.Machine.Dotnet,
            ["runtime"] = row.Name,
            ["count"] = settings.Count,
            ["batch_size"] = settings.BatchSize,
            ["cdc_parallel_size"] = row.Choice is { Kind: RuntimeKind.Parallel } parallel ? parallel.Size : settings.ParallelSize,
            ["cdc_concurrency"] = row.Choice is { Kind: RuntimeKind.Concurrent or RuntimeKind.Auto } concurrent ? concurrent.Size : settings.Concurrency,
            ["timeout"] = settings.Timeout?.TotalSeconds,
            ["preserve_order"] = settings.PreserveOrder,
            ["warmup"] = settings.Warmup,
            ["elapsed_seconds"] = row.IsMeasured ? Rounded(row.Elapsed, 9) : null,
            ["throughput_per_second"] = row.IsMeasured ? Math.Round(row.Rate.Median) : null,
            ["gc_count"] = row.IsMeasured ? Rounded(row.GcCount, 2) : null,

            // Ours.
            ["peer"] = row.Choice is null,
            ["partial"] = row.IsPartial,
            ["processed"] = row.Processed,
            ["failed"] = row.Failed,
            ["timed_out"] = row.TimedOut,
            ["checksum"] = row.Checksum,
        };
        if (row.Choice is { Kind: RuntimeKind.Auto })
        {
            fields["decisions"] = Node(row.Arm.Decisions);
        }

        if (row.IsMeasured)
        {
            AddMeasured(fields, row);
        }

        return fields;
    }

    private static void AddMeasured(JsonObject fields, LoadRow row)
    {
        fields["throughput_min"] = Math.Round(row.Rate.Min);
        fields["throughput_max"] = Math.Round(row.Rate.Max);
        fields["ns_per_item"] = Rounded(row.Nanoseconds, 3);
        fields["ns_above_direct"] = Rounded(row.AboveDirect, 3);
        fields["ratio_to_loop"] = Rounded(row.ToLoop, 4);
        fields["ratio_to_foreachasync"] = Rounded(row.ToForEachAsync, 4);
        fields["bytes_per_item"] = Rounded(row.BytesPerItem, 3);
        fields["cpu_seconds_per_million"] = Rounded(row.CpuSecondsPerMillion, 6);

        // Totals of all counted rounds.
        fields["measured"] = new JsonObject
        {
            ["items"] = row.Items,
            ["seconds"] = Rounded(row.Counted.Sum(static r => r.Seconds), 6),
            ["cpu_user_seconds"] = Rounded(row.Counted.Sum(static r => r.CpuUserSeconds), 6),
            ["cpu_system_seconds"] = Rounded(row.Counted.Sum(static r => r.CpuSystemSeconds), 6),
            ["allocated_bytes"] = row.Total(static r => r.AllocatedBytes),
            ["gc_gen0"] = row.Total(static r => r.Gen0),
            ["gc_gen1"] = row.Total(static r => r.Gen1),
            ["gc_gen2"] = row.Total(static r => r.Gen2),
            ["gc_pause_seconds"] = Rounded(row.Counted.Sum(static r => r.GcPauseSeconds), 6),
            ["gc_gen0_per_million"] = Rounded(row.PerMillion(static r => r.Gen0), 4),
            ["gc_gen1_per_million"] = Rounded(row.PerMillion(static r => r.Gen1), 4),
            ["gc_gen2_per_million"] = Rounded(row.PerMillion(static r => r.Gen2), 4),
            ["lock_contentions"] = row.Total(static r => r.LockContentions),
            ["pool_threads"] = row.Counted.Max(static r => r.PoolThreads),
            ["compiled_methods"] = row.Total(static r => r.CompiledMethods),
        };
        fields["trials"] = new JsonArray([.. row.Arm.Rounds.Select(Trial)]);
    }

    private static JsonObject Trial(RoundRecord round, int index) => new()
    {
        ["round"] = index + 1,
        ["partial"] = round.Partial,
        ["passes"] = round.Passes,
        ["items"] = round.Operations,
        ["failed"] = LoadRow.FailedOf(round),
        ["timed_out"] = round.TimedOut,
        ["elapsed_seconds"] = Rounded(round.Seconds, 6),
        ["throughput_per_second"] = Math.Round(round.Rate),
        ["cpu_seconds"] = Rounded(round.CpuUserSeconds + round.CpuSystemSeconds, 6),
        ["allocated_bytes"] = round.AllocatedBytes,
        ["gc_count"] = LoadRow.Collections(round),
    };

    private static JsonNode? Node<T>(T value) => JsonSerializer.SerializeToNode(value, ResultJson.Indented);

    private static double? Rounded(double? value, int digits) => value is { } known && double.IsFinite(known) ? Math.Round(known, digits) : null;
}

using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;
using Weir.Cli.Commands.Load.Arms;
using Weir.Cli.Commands.Load.Options;
using Weir.Cli.Runtimes;
using Weir.Lab.Resources;
using Weir.Lab.Statistics;
using Weir.Lab.Trials;
using Weir.Runtimes;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>Writes a report for programs.</summary>
internal static class LoadJson
{
    private const string Benchmark = "weir-load";
    private const long Million = 1_000_000;

    // The text is read by programs and people, not put into a page: a plus sign needs no escape.
    private static readonly JsonSerializerOptions Options = new() { WriteIndented = true, Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    public static void Write(LoadReport report, TextWriter output)
    {
        LoadSettings settings = report.Settings;
        JsonObject root = new()
        {
            ["benchmark"] = Benchmark,
            ["started_at"] = report.StartedAt.ToString("O"),
            ["partial"] = report.IsPartial,
            ["machine"] = Machine(report.Machine),
            ["runtime"] = report.Runtime,
            ["trials"] = settings.Trials,
            ["watched"] = settings.Watch,
            ["workload"] = settings.Workload,
            ["work"] = report.Work,
            ["grain_seconds"] = settings.Grain > TimeSpan.Zero ? settings.Grain.TotalSeconds : null,
            ["grain_bytes"] = settings.GrainBytes > 0 ? settings.GrainBytes : null,
            ["fail_rate"] = settings.FailRate,
            ["sweep"] = new JsonArray([.. settings.Sweep.Select(static size => (JsonNode)size)]),
            ["input"] = settings.Input?.Path,
            ["peer_degree"] = settings.Peers ? settings.PeerDegree : null,
            ["peak_rss_bytes"] = report.PeakResidentBytes,
            ["results"] = new JsonArray([.. report.Rows.Select(row => Result(report, row))]),
        };
        output.WriteLine(root.ToJsonString(Options));
    }

    private static JsonObject Machine(MachineInfo machine) => new()
    {
        ["cpu"] = machine.Cpu,
        ["cores"] = machine.Cores,
        ["os"] = machine.Os,
        ["architecture"] = machine.Architecture,
        ["memory_bytes"] = machine.MemoryBytes,
        ["dotnet"] = machine.DotNet,
        ["gc"] = machine.Gc,
        ["variables"] = new JsonObject(machine.Variables.Select(static v => KeyValuePair.Create(v.Key, (JsonNode?)v.Value))),
    };

    private static JsonObject Result(LoadReport report, LoadRow row)
    {
        LoadSettings settings = report.Settings;
        JsonObject result = new()
        {
            // The fields of the reference script.
            ["benchmark"] = Benchmark,
            ["dotnet"] = report.Machine.DotNet,
            ["runtime"] = row.Name,
            ["count"] = settings.Count,
            ["batch_size"] = settings.BatchSize,
            ["cdc_parallel_size"] = row.Choice is { Kind: RuntimeKind.Parallel } parallel ? parallel.Size : settings.ParallelSize,
            ["cdc_concurrency"] = row.Choice is { Kind: RuntimeKind.Concurrent or RuntimeKind.Auto } concurrent ? concurrent.Size : settings.Concurrency,
            ["timeout"] = settings.Timeout?.TotalSeconds,
            ["preserve_order"] = settings.PreserveOrder,
            ["warmup"] = settings.Warmup,
            ["elapsed_seconds"] = row.IsMeasured ? Rounded(row.Elapsed, 9) : null,
            ["throughput_per_second"] = row.IsMeasured ? Math.Round(row.Throughput) : null,
            ["gc_count"] = row.IsMeasured ? Rounded(row.GcCount, 2) : null,

            // Ours.
            ["peer"] = row.Choice is null,
            ["partial"] = row.Result.IsPartial,
            ["processed"] = row.Processed,
            ["failed"] = row.Failed,
            ["timed_out"] = row.TimedOut,
            ["checksum"] = row.Checksum?.ToString("x16", null),
        };
        if (row.Choice is { Kind: RuntimeKind.Auto })
        {
            result["decisions"] = new JsonArray([.. row.Decisions.Select(Decision)]);
        }

        if (row.IsMeasured)
        {
            AddMeasured(result, row);
        }

        return result;
    }

    private static JsonObject Decision(LoadDecision made)
    {
        AutoDecision decision = made.Decision;
        return new JsonObject
        {
            ["call"] = made.Call,
            ["at_seconds"] = Rounded(decision.At.TotalSeconds, 6),
            ["items"] = decision.Items,
            ["from"] = decision.From.ToString().ToLowerInvariant(),
            ["to"] = decision.To.ToString().ToLowerInvariant(),
            ["threads"] = decision.Threads,
            ["in_flight"] = decision.InFlight,
            ["reason"] = decision.Reason,
        };
    }

    private static void AddMeasured(JsonObject result, LoadRow row)
    {
        ArmResult arm = row.Result;
        ResourceUse use = arm.Resources;
        Spread rate = arm.Rate;
        result["throughput_min"] = Math.Round(rate.Min);
        result["throughput_max"] = Math.Round(rate.Max);
        result["ns_per_item"] = Rounded(arm.NanosecondsPerItem.Median, 3);
        result["ns_above_direct"] = Rounded(row.AboveDirect, 3);
        result["ratio_to_loop"] = Rounded(row.ToLoop, 4);
        result["ratio_to_foreachasync"] = Rounded(row.ToForEachAsync, 4);
        result["bytes_per_item"] = Rounded(row.BytesPerItem, 3);
        result["cpu_seconds_per_million"] = Rounded(row.CpuSecondsPerMillion, 6);

        // Totals of all counted windows.
        result["measured"] = new JsonObject
        {
            ["items"] = arm.Items,
            ["seconds"] = Rounded(arm.Counted.Sum(static w => w.Elapsed.TotalSeconds), 6),
            ["cpu_user_seconds"] = Rounded(use.CpuUser.TotalSeconds, 6),
            ["cpu_system_seconds"] = Rounded(use.CpuSystem.TotalSeconds, 6),
            ["allocated_bytes"] = use.AllocatedBytes,
            ["gc_gen0"] = use.Gen0,
            ["gc_gen1"] = use.Gen1,
            ["gc_gen2"] = use.Gen2,
            ["gc_pause_seconds"] = Rounded(use.GcPause.TotalSeconds, 6),
            ["gc_gen0_per_million"] = Rounded(arm.Per(static r => r.Gen0, Million), 4),
            ["gc_gen1_per_million"] = Rounded(arm.Per(static r => r.Gen1, Million), 4),
            ["gc_gen2_per_million"] = Rounded(arm.Per(static r => r.Gen2, Million), 4),
            ["lock_contentions"] = use.LockContentions,
            ["pool_threads"] = use.PoolThreads,
            ["compiled_methods"] = use.CompiledMethods,
        };
        result["trials"] = new JsonArray([.. arm.Windows.Select(Trial)]);
    }

    private static JsonObject Trial(Window window) => new()
    {
        ["round"] = window.Round,
        ["partial"] = window.IsPartial,
        ["passes"] = window.Passes,
        ["items"] = window.Items,
        ["failed"] = window.Failed,
        ["timed_out"] = window.TimedOut,
        ["elapsed_seconds"] = Rounded(window.Elapsed.TotalSeconds, 6),
        ["throughput_per_second"] = Math.Round(window.Rate),
        ["cpu_seconds"] = Rounded(window.Resources.Cpu.TotalSeconds, 6),
        ["allocated_bytes"] = window.Resources.AllocatedBytes,
        ["gc_count"] = window.Resources.Collections,
    };

    private static double? Rounded(double? value, int digits) => value is { } known && double.IsFinite(known) ? Math.Round(known, digits) : null;
}

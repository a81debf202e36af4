using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Text.RegularExpressions;
using System.Threading.Tasks.Dataflow;
using Weir.Delivery;
using Weir.Observability;
using Weir.Resilience;
using Weir.Runtimes;

namespace Weir.Docs.Tests;

/// <summary>
/// Are the instruments and spans that listeners get, with their attributes, those of the tables in docs/reference/observability.md? Each feature is driven under one
/// name, by which what it told is found among that of other tests.
/// </summary>
[Collection(nameof(Console))]
public sealed partial class TelemetryTableTests : IDisposable
{
    private const string Name = "telemetry-table";

    private static readonly Dictionary<string, string[]> Groups = new()
    {
        ["*run*"] = ["weir.operation", "weir.runtime", "weir.operation.name"],
        ["*block*"] = ["weir.block.type", "weir.block.name"],
    };

    private readonly MeterListener _meters = new();
    private readonly ActivityListener _spans;
    private readonly ConcurrentDictionary<string, Instrument> _instruments = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, ConcurrentDictionary<string, bool>> _attributes = new(StringComparer.Ordinal);
    private readonly ConcurrentQueue<Activity> _ended = [];

    public TelemetryTableTests()
    {
        _meters.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Meter.Name == WeirDiagnostics.MeterName)
            {
                _instruments[instrument.Name] = instrument;
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _meters.SetMeasurementEventCallback<long>((instrument, _, tags, _) => Keep(instrument, tags));
        _meters.SetMeasurementEventCallback<double>((instrument, _, tags, _) => Keep(instrument, tags));
        _meters.Start();
        _spans = new ActivityListener
        {
            ShouldListenTo = static source => source.Name is WeirDiagnostics.ActivitySourceName or Name,
            Sample = static (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = _ended.Enqueue,
        };
        ActivitySource.AddActivityListener(_spans);
    }

    public void Dispose()
    {
        _meters.Dispose();
        _spans.Dispose();
    }

    [Fact(Timeout = 120_000)]
    public async Task Features_InstrumentsAndSpans_AreThoseOfThePage()
    {
        using ActivitySource source = new(Name);
        ActivityTraceId trace;
        using (Activity root = source.StartActivity("root")!)
        {
            trace = root.TraceId;
            object[] policies = [.. await DriveChainsAsync()];
            await DriveRunsAsync();
            object block = await DriveBlocksAsync();
            await DriveHostAsync();
            await using WorkGauges gauges = await DriveGaugesAsync();
            _meters.RecordObservableInstruments();

            // Counts lie in what has them until they are read.
            GC.KeepAlive(policies);
            GC.KeepAlive(block);
        }

        Row[] table = [.. Rows("instrument")];
        Assert.Equal(table.Select(static r => r.Name).Order(StringComparer.Ordinal), _instruments.Keys.Order(StringComparer.Ordinal));
        Assert.Equal(
            table.Select(static r => $"{r.Name}: {r.Cells[1]}, {r.Cells[2]}, {Joined(r.Attributes)}"),
            table.Select(r => $"{r.Name}: {KindOf(_instruments[r.Name])}, {UnitOf(_instruments[r.Name])}, {Seen(r.Name)}"));

        Assert.Equal(
            Rows("span").Select(static r => $"{r.Name}: {r.Cells[1]}, {Joined(r.Attributes)}").Order(StringComparer.Ordinal),
            _ended.Where(span => span.TraceId == trace && span.Source.Name == WeirDiagnostics.ActivitySourceName)
                .GroupBy(static span => (Name: NameOf(span), span.Kind))
                .Select(static g => $"{g.Key.Name}: {g.Key.Kind}, {Joined(g.SelectMany(static s => s.TagObjects).Select(static t => t.Key))}")
                .Order(StringComparer.Ordinal));
    }

    private static string NameOf(Activity span) => span.OperationName switch
    {
        Name => "RUN",
        $"process {Name}" => "process SOURCE",
        { } other => other,
    };

    private static string KindOf(Instrument instrument)
    {
        string type = instrument.GetType().Name;
        return type.Contains("UpDownCounter", StringComparison.Ordinal) ? "up-down counter"
            : type.Contains("Counter", StringComparison.Ordinal) ? "counter"
            : type.Contains("Histogram", StringComparison.Ordinal) ? "histogram"
            : "gauge";
    }

    private static string? UnitOf(Instrument instrument) => instrument.Unit;

    /// <summary>Does the dashboard for Grafana ask for what we have, by the names that OpenTelemetry's exporters for Prometheus make of them?</summary>
    [Fact]
    public void Grafana_MetricsAndLabels_AreThoseOfThePage()
    {
        Dictionary<string, string[]> known = new(StringComparer.Ordinal);
        foreach (Row row in Rows("instrument"))
        {
            string name = PrometheusName(row);
            string[] labels = [.. row.Attributes.Select(static a => a.Replace('.', '_'))];
            known[name] = labels;
            if (row.Cells[1] == "histogram")
            {
                known[name + "_bucket"] = known[name + "_sum"] = known[name + "_count"] = [.. labels, "le"];
            }
        }

        using System.Text.Json.JsonDocument dashboard = System.Text.Json.JsonDocument.Parse(DocPages.Read("docs/grafana/weir.json"));
        List<string> asked = [];
        foreach (System.Text.Json.JsonElement panel in dashboard.RootElement.GetProperty("panels").EnumerateArray())
        {
            foreach (System.Text.Json.JsonElement target in panel.TryGetProperty("targets", out System.Text.Json.JsonElement targets) ? [.. targets.EnumerateArray()] : Array.Empty<System.Text.Json.JsonElement>())
            {
                string expression = target.GetProperty("expr").GetString()!;
                string metric = Assert.Single(MetricOf().Matches(expression)).Groups[1].Value;
                Assert.True(known.ContainsKey(metric), $"There is no {metric}, for which {expression} asks.");
                string[] labels = [.. LabelOf().Matches(expression.Replace(metric, "", StringComparison.Ordinal) + target.GetProperty("legendFormat").GetString()).Select(static m => m.Value).Distinct()];
                Assert.All(labels, label => Assert.True(known[metric].Contains(label), $"{metric} has no {label}, for which {expression} asks."));
                asked.Add(metric);
            }
        }

        Assert.InRange(asked.Distinct().Count(), 15, known.Count);
        Assert.Contains("weir_runs_active", dashboard.RootElement.GetProperty("templating").GetRawText(), StringComparison.Ordinal);
        Assert.True(known.ContainsKey("weir_runs_active"));
    }

    // https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics: units in words, none for what stands in braces, and _total at counters.
    private static string PrometheusName(Row row) => row.Name.Replace('.', '_')
        + (row.Cells[2] switch { "s" => "_seconds", "By" => "_bytes", _ => "" } is { } unit && !row.Name.EndsWith(unit, StringComparison.Ordinal) ? unit : "")
        + (row.Cells[1] == "counter" ? "_total" : "");

    [GeneratedRegex(@"\b(weir_\w+)\{")]
    private static partial Regex MetricOf();

    [GeneratedRegex(@"\b(?:weir_\w+|error_type|messaging_\w+)")]
    private static partial Regex LabelOf();

    private static IEnumerable<Row> Rows(string first)
    {
        string page = DocPages.Read("docs/reference/observability.md").ReplaceLineEndings("\n");
        string[] lines =
        [
            .. page.Split('\n').SkipWhile(line => !line.StartsWith($"| {first} |", StringComparison.Ordinal)).TakeWhile(static l => l.StartsWith('|')),
        ];
        int at = lines[0].Split('|')[1..^1].Select(static c => c.Trim()).ToList().IndexOf("attributes");
        return lines.Skip(2).Select(line =>
        {
            string[] cells = [.. line.Split('|')[1..^1].Select(static c => c.Trim())];
            return new Row(
                Code().Match(cells[0]).Groups[1].Value,
                cells,
                [
                    .. Groups.Where(g => cells[at].Contains(g.Key, StringComparison.Ordinal)).SelectMany(static g => g.Value),
                    .. Code().Matches(cells[at]).Select(static m => m.Groups[1].Value),
                ]);
        });
    }

    private static async Task<object[]> DriveChainsAsync()
    {
        CircuitBreaker breaker = new(new() { Name = Name });
        SharedConcurrencyLimit limit = new(1) { Name = Name };
        TokenBucket bucket = new(new() { Name = Name });
        RetryOptions retry = new() { MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true };
        PolicyChain<int> fails = new(new() { Name = Name, Retry = retry, CircuitBreaker = breaker, ConcurrencyLimit = limit, RateLimit = bucket });
        PolicyChain<int> falls = new(new() { Name = Name, Fallback = new FallbackOptions<int> { Handler = static (_, _) => new ValueTask<int>(1) } });
        RetryBudget budget = new(0, 0) { Name = Name };
        PolicyChain<int> refuses = new(new() { Retry = retry with { Budget = budget } });
        await Assert.ThrowsAsync<FormatException>(async () => await fails.ExecuteAsync(static _ => throw new FormatException()));
        await Assert.ThrowsAsync<FormatException>(async () => await refuses.ExecuteAsync(static _ => throw new FormatException()));
        Assert.Equal(1, await falls.ExecuteAsync(static _ => throw new FormatException()));
        SharedConcurrencyLimit full = new(1, maxWaiting: 0) { Name = Name };
        await full.EnterAsync();
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(async () => await full.EnterAsync());
        return [breaker, limit, bucket, full];
    }

    private static async Task DriveRunsAsync()
    {
        ParallelRunOptions options = new()
        {
            OperationName = Name, MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true, CircuitBreaker = new CircuitBreakerOptions(),
        };
        await Assert.ThrowsAsync<FormatException>(() => new[] { 1, 2 }.ForEachParallelAsync(
            static (x, _) => x == 2 ? throw new FormatException() : default, options));
        await using ConcurrentRuntime runtime = new(options: new RuntimeOptions { Policies = options with { OperationName = null } });
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
            [1, 2], static (x, _) => x == 2 ? throw new FormatException() : new ValueTask<int>(x), new ProcessManyOptions { OperationName = Name });
        Assert.Equal([true, false], outcomes.Select(static o => o.IsSuccess));
    }

    private static async Task<object> DriveBlocksAsync()
    {
        Dataflow.ActionBlock<int> block = new(
            static x => x == 2 ? throw new FormatException() : Task.CompletedTask, new ExecutionDataflowBlockOptions { NameFormat = Name });
        Assert.True(block.Post(1));
        Assert.True(block.Post(2));
        await Assert.ThrowsAsync<FormatException>(() => block.Completion);
        return block;
    }

    private async Task DriveHostAsync()
    {
        MemoryWorkQueue<string> queue = new(Name, WorkSerializer.Text);
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync(WorkItem.CreateMany(["good", "bad"]), position: null, CancellationToken.None);
        }

        queue.Complete();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using DirectRuntime runtime = new();
        await new WorkHost<string>(
            source,
            runtime,
            (item, _) =>
            {
                // The lag is that of hosts that run.
                _meters.RecordObservableInstruments();
                return item.Value == "bad" ? throw new FormatException() : default;
            },
            new WorkHostOptions<string>
            {
                DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text, MaxAttempts = 1, OperationName = Name,
            }).RunAsync();
    }

    private static async Task<WorkGauges> DriveGaugesAsync()
    {
        TaskCompletionSource read = new(TaskCreationOptions.RunContinuationsAsynchronously);
        WorkGauges gauges = WorkGauges.Start(new EverythingKnown(), new WorkGaugeOptions { OnReading = _ => read.TrySetResult() });
        await read.Task;
        return gauges;
    }

    private static string Joined(IEnumerable<string> attributes) => string.Join(", ", attributes.Distinct().Order(StringComparer.Ordinal));

    private string Seen(string instrument) => Joined(_attributes.GetValueOrDefault(instrument, []).Keys);

    private void Keep(Instrument instrument, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        bool isOurs = false;
        foreach ((_, object? value) in tags)
        {
            isOurs |= Name.Equals(value);
        }

        if (isOurs)
        {
            ConcurrentDictionary<string, bool> seen = _attributes.GetOrAdd(instrument.Name, static _ => new(StringComparer.Ordinal));
            foreach ((string key, _) in tags)
            {
                seen[key] = true;
            }
        }
    }

    private sealed class EverythingKnown : IWorkStatistics
    {
        string IWorkStatistics.Name => TelemetryTableTests.Name;

        public ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default) => new(new WorkStatistics
        {
            Waiting = 1, Scheduled = 1, InFlight = 1, OldestAge = TimeSpan.Zero, DeadLetters = 1, WaitingMessages = 1, ScheduledMessages = 1,
            LagBytes = 1, Lag = TimeSpan.Zero, RetainedBytes = 1, RemainingBytes = 1, IsActive = true, LogState = WorkLogState.Reserved,
        });
    }

    private sealed record Row(string Name, string[] Cells, string[] Attributes);

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Code();
}

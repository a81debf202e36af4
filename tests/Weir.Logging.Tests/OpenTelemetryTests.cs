using System.Threading.Tasks.Dataflow;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;
using Weir.Observability;
using Weir.Runtimes;

namespace Weir.Logging.Tests;

/// <summary>What an OpenTelemetry SDK exports to a collector.</summary>
[Collection(AloneInTheProcess.Name)]
public sealed class OpenTelemetryTests : IDisposable
{
    private const string Metrics = "/v1/metrics";
    private const string Traces = "/v1/traces";
    private const int Long = 60_000;

    private readonly string _name = $"exported.{Guid.NewGuid():N}";
    private readonly OtlpReceiver _collector = new();

    public void Dispose() => _collector.Dispose();

    [Fact(Timeout = 90_000)]
    public async Task Metrics_OfARunUnderWayWhenTheSdkStarts_ReachTheCollector()
    {
        using Gate gate = new();
        int inside = 0;
        Task run = new[] { 1, 2 }.ForEachParallelAsync(
            async (_, token) =>
            {
                Interlocked.Increment(ref inside);
                await gate.WaitAsync(token);
            },
            new ParallelRunOptions { OperationName = _name, MaxDegreeOfParallelism = 2 });
        await using ConcurrentRuntime runtime = new(2);
        Task call = runtime.ProcessManyAsync(
            new[] { 1 },
            async (x, token) =>
            {
                await gate.WaitAsync(token);
                return x;
            },
            new ProcessManyOptions { OperationName = _name + ".call" });
        await Guard.UntilAsync(() => Volatile.Read(ref inside) == 2, "the items");

        using MeterProvider provider = ExportedMetrics();
        await Guard.UntilAsync(
            () => provider.ForceFlush(Long) && _collector.Has(Metrics, "weir.runs.active", "weir.items.waiting", _name, _name + ".call", "concurrent"),
            "the runs under way");

        gate.Open();
        await run;
        await call;
        Assert.True(provider.ForceFlush(Long));
        Assert.True(_collector.Has(Metrics, "weir.run.duration", "completed", _name));
    }

    [Fact(Timeout = 90_000)]
    public async Task Metrics_OfABlockUnderWayWhenTheSdkStarts_ReachTheCollector()
    {
        using Gate gate = new();
        Dataflow.ActionBlock<int> block = new(
            async _ => await gate.WaitAsync(CancellationToken.None), new ExecutionDataflowBlockOptions { NameFormat = _name });
        Assert.True(block.Post(1));
        Assert.True(block.Post(2));
        using MeterProvider provider = ExportedMetrics();
        await Guard.UntilAsync(
            () => provider.ForceFlush(Long) && _collector.Has(Metrics, "weir.blocks.active", "weir.block.in_flight", "weir.block.queued", _name),
            "the block under way");

        gate.Open();
        block.Complete();
        await block.Completion.WithinAsync("the block");
        Assert.True(provider.ForceFlush(Long));
        Assert.True(_collector.Has(Metrics, "weir.block.messages", "succeeded", "weir.block.duration", _name));
    }

    [Fact(Timeout = 90_000)]
    public async Task Spans_OfARuntime_ReachTheCollector()
    {
        using TracerProvider provider = ExportedSpans();
        await using DirectRuntime runtime = new();
        await runtime.ProcessManyAsync(new[] { 1 }, static (x, _) => new ValueTask<int>(x), new ProcessManyOptions { OperationName = _name });

        Assert.True(provider.ForceFlush(Long));
        Assert.True(_collector.Has(Traces, _name, "direct", "weir.item"));
    }

    [Fact(Timeout = 90_000)]
    public async Task Spans_OfARun_ReachTheCollector()
    {
        using TracerProvider provider = ExportedSpans();
        await new[] { 1, 2 }.ForEachParallelAsync(
            static (x, _) => x == 2 ? throw new FormatException() : default,
            new ParallelRunOptions { OperationName = _name, ErrorMode = ErrorMode.BestEffort });

        Assert.True(provider.ForceFlush(Long));
        Assert.True(_collector.Has(Traces, _name));
        Assert.True(_collector.Has(Traces, "weir.item"));
        Assert.True(_collector.Has(Traces, "System.FormatException"));
    }

    private MeterProvider ExportedMetrics() => Sdk.CreateMeterProviderBuilder()
        .AddMeter(WeirDiagnostics.MeterName)
        .AddOtlpExporter((exporter, reader) =>
        {
            exporter.Protocol = OtlpExportProtocol.HttpProtobuf;
            exporter.Endpoint = _collector.Endpoint(Metrics);
            reader.PeriodicExportingMetricReaderOptions.ExportIntervalMilliseconds = Timeout.Infinite;
        })
        .Build();

    private TracerProvider ExportedSpans() => Sdk.CreateTracerProviderBuilder()
        .AddSource(WeirDiagnostics.ActivitySourceName)
        .AddOtlpExporter(exporter =>
        {
            exporter.Protocol = OtlpExportProtocol.HttpProtobuf;
            exporter.Endpoint = _collector.Endpoint(Traces);
        })
        .Build();
}

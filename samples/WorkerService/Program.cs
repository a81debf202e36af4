using System.Collections.Concurrent;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Diagnostics.HealthChecks;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using OpenTelemetry;
using OpenTelemetry.Logs;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;
using Weir;
using Weir.Delivery;
using Weir.Hosting;
using Weir.Logging;
using Weir.Observability;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(new WebApplicationOptions { ContentRootPath = AppContext.BaseDirectory });

// What is watched goes to a collector: the variables OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_PROTOCOL say where it is.
ResourceBuilder service = ResourceBuilder.CreateDefault().AddService("orders");
using MeterProvider metrics = Sdk.CreateMeterProviderBuilder()
    .SetResourceBuilder(service)
    .AddMeter(WeirDiagnostics.MeterName)
    .AddOtlpExporter()
    .Build();
using TracerProvider spans = Sdk.CreateTracerProviderBuilder()
    .SetResourceBuilder(service)
    .AddSource(WeirDiagnostics.ActivitySourceName)
    .AddSource("Microsoft.AspNetCore") // The request that publishes an order is the parent of what the worker does for it.
    .AddOtlpExporter()
    .Build();
builder.Logging.AddOpenTelemetry(logging =>
{
    logging.IncludeFormattedMessage = true;
    logging.IncludeScopes = true;
    logging.SetResourceBuilder(service).AddOtlpExporter();
});

// In memory, so that the sample needs no server. With PostgresWorkQueue in its place, the orders outlive the process.
builder.Services.AddSingleton<IWorkQueue<string>>(new MemoryWorkQueue<string>("orders", WorkSerializer.Text));
builder.Services.AddSingleton<Ledgers>();
builder.Services.AddScoped<Ledger>();
builder.Services.AddWeirWorker<OrderProcessor>("orders");

// The policies are in appsettings.json. Their log lines need the application's loggers.
builder.Services.AddOptions<WeirWorkerOptions>("orders").PostConfigure<ILoggerFactory>(static (options, loggers) =>
    options.Policies = ((options.Policies ?? new ParallelRunOptions()) with { OperationName = options.OperationName }).WithLogging(loggers));
builder.Services.AddHealthChecks().AddWeirWorkers();
WebApplication app = builder.Build();
app.Urls.Add(args.Length > 0 ? args[0] : "http://127.0.0.1:0");

// An order is accepted when the queue has it.
app.MapPost("/orders/{name}", async (string name, IWorkQueue<string> queue, CancellationToken token) =>
{
    await using IWorkSink<string> sink = await queue.OpenSinkAsync(token);
    await sink.WriteAsync([WorkItem.Create(name)], position: null, token);
    return Results.Accepted();
});
app.MapGet("/dead", (IWorkQueue<string> queue) => queue.DeadLetters.ListAsync().Select(letter => new { letter.Id, letter.Reason, letter.Attempts }));

foreach (string tag in (string[])[WeirHealth.LiveTag, WeirHealth.ReadyTag, WeirHealth.LagTag])
{
    app.MapHealthChecks($"/health/{tag}", new HealthCheckOptions { Predicate = check => check.Tags.Contains(tag) });
}

await app.StartAsync();
Console.WriteLine($"listening on {app.Urls.First()}");
IWeirWorker worker = app.Services.GetRequiredKeyedService<IWeirWorker>("orders");
await app.WaitForShutdownAsync();
WorkHostStatistics end = worker.Statistics;

// Writes the log lines that wait; the metrics and spans follow when the program ends.
await app.DisposeAsync();
Console.WriteLine($"{end.Succeeded} orders entered, {end.DeadLettered} dead letters, {end.Returned} returned");

/// <summary>Enters orders. Each has a scope, and so a ledger, of its own.</summary>
internal sealed class OrderProcessor(Ledger ledger) : IWorkProcessor<string>
{
    public async ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken) => await ledger.EnterAsync(item.Value, cancellationToken);
}

/// <summary>Stands for a database context.</summary>
internal sealed class Ledger(Ledgers server)
{
    public async Task EnterAsync(string order, CancellationToken token)
    {
        await Task.Delay(5, token);
        if (order.StartsWith("bad", StringComparison.Ordinal))
        {
            throw new FormatException($"The order '{order}' cannot be entered.");
        }

        if (order.StartsWith("flaky", StringComparison.Ordinal) && server.IsBusyWith(order))
        {
            throw new TimeoutException("The ledger did not answer in time.");
        }

        Console.WriteLine($"entered {order}");
    }
}

/// <summary>Stands for the database server. It does not answer when a flaky order comes for the first time.</summary>
internal sealed class Ledgers
{
    private readonly ConcurrentDictionary<string, bool> _seen = new();

    public bool IsBusyWith(string order) => !_seen.TryRemove(order, out _) && _seen.TryAdd(order, true);
}

using System.Diagnostics.Metrics;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Diagnostics.HealthChecks;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Weir.Delivery;
using Weir.Hosting;
using Weir.Observability;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(new WebApplicationOptions { ContentRootPath = AppContext.BaseDirectory });
builder.Logging.ClearProviders();

// In memory, so that the sample needs no server. With PostgresWorkQueue in its place, the orders outlive the process.
builder.Services.AddSingleton<IWorkQueue<string>>(new MemoryWorkQueue<string>("orders", WorkSerializer.Text));
builder.Services.AddScoped<Ledger>();
builder.Services.AddWeirWorker<OrderProcessor>("orders");
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

// What an exporter of OpenTelemetry would read: the meter "Weir".
SortedDictionary<string, double> measured = [];
using MeterListener listener = new();
listener.InstrumentPublished = (instrument, own) =>
{
    if (instrument.Meter.Name == WeirDiagnostics.MeterName)
    {
        own.EnableMeasurementEvents(instrument);
    }
};
listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => Measure(instrument, value, tags));
listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) => Measure(instrument, value, tags));
listener.Start();
app.MapGet("/metrics", () =>
{
    lock (measured)
    {
        listener.RecordObservableInstruments();
        return Results.Text(string.Concat(measured.Select(m => FormattableString.Invariant($"{m.Key} {m.Value}\n"))));
    }
});

await app.StartAsync();
Console.WriteLine($"listening on {app.Urls.First()}");
IWeirWorker worker = app.Services.GetRequiredKeyedService<IWeirWorker>("orders");
await app.WaitForShutdownAsync();
WorkHostStatistics end = worker.Statistics;
Console.WriteLine($"{end.Succeeded} orders entered, {end.DeadLettered} dead letters, {end.Returned} returned");

void Measure(Instrument instrument, double value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
{
    if (instrument.IsObservable)
    {
        measured[$"{instrument.Name}{{{string.Join(',', tags.ToArray().Select(t => $"{t.Key}={t.Value}"))}}}"] = value;
    }
}

/// <summary>Enters orders. Each has a scope, and so a ledger, of its own.</summary>
internal sealed class OrderProcessor(Ledger ledger) : IWorkProcessor<string>
{
    public async ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken) => await ledger.EnterAsync(item.Value, cancellationToken);
}

/// <summary>Stands for a database context.</summary>
internal sealed class Ledger
{
    public async Task EnterAsync(string order, CancellationToken token)
    {
        await Task.Delay(5, token);
        if (order.StartsWith("bad", StringComparison.Ordinal))
        {
            throw new FormatException($"The order '{order}' cannot be entered.");
        }

        Console.WriteLine($"entered {order}");
    }
}

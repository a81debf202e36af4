using System.Collections.Concurrent;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Weir;
using Weir.Http;
using Weir.Resilience;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
await using WebApplication app = builder.Build();
app.Urls.Add(args.Length > 0 ? args[0] : "http://127.0.0.1:0");

// What all requests share: a circuit breaker and a limit for each backend. One that is down or slow does not stop the other 19.
string[] backends = [.. Enumerable.Range(1, 20).Select(n => $"backend-{n:00}")];
ParallelRunOptions fanOut = new()
{
    OperationName = "quotes",
    MaxDegreeOfParallelism = backends.Length,
    PerItemTimeout = TimeSpan.FromSeconds(args.Length > 1 ? int.Parse(args[1]) : 2),
    Retry = new() { MaxRetries = 1, BaseDelay = TimeSpan.FromMilliseconds(20), IsTransient = HttpRetry.IsTransient },
    CircuitBreaker = CircuitBreakers.ByKey<string, string>(name => name, new() { FailureThreshold = 3 }),
    ConcurrencyLimit = ConcurrencyLimits.ByKey<string, string>(name => name, 4),
};
using HttpClient client = new(new HttpStatusHandler(new SocketsHttpHandler()));

app.MapGet("/quotes", async (CancellationToken token) =>
{
    ItemOutcome<string, decimal>[] quotes = await backends.SelectParallelOutcomesAsync(QuoteAsync, fanOut, token);
    return Results.Text(string.Concat(quotes.Select(q =>
        $"{q.Item}: {(q.IsSuccess ? q.Value : $"{q.Status}, {q.Error?.GetType().Name}")}\n")));
});

// The backends, in this process too. The seventh is down.
ConcurrentDictionary<string, int> calls = new();
app.MapGet("/{backend}/quote", async (string backend, CancellationToken token) =>
{
    calls.AddOrUpdate(backend, 1, (_, n) => n + 1);
    await Task.Delay(5, token);
    return backend == "backend-07" ? Results.StatusCode(500) : Results.Text("12.50");
});
app.MapGet("/{backend}/calls", (string backend) => calls.GetValueOrDefault(backend));

await app.StartAsync();
Console.WriteLine($"listening on {app.Urls.First()}");
await app.WaitForShutdownAsync();

async Task<decimal> QuoteAsync(string backend, CancellationToken token) =>
    decimal.Parse(await client.GetStringAsync($"{app.Urls.First()}/{backend}/quote", token));

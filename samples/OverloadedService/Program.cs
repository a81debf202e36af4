using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Weir.Resilience;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
await using WebApplication app = builder.Build();
app.Urls.Add(args.Length > 0 ? args[0] : "http://127.0.0.1:0");

// One limit for all that needs the database. It finds its number itself, and has a queue of at most 100 calls.
AdaptiveLimit limit = new(new AdaptiveLimitOptions { Name = "orders" });

// Around the endpoints: a request gets a permit by its priority if it can be answered before its client leaves. Otherwise it is refused at once.
app.UseWhen(context => context.Request.Path.StartsWithSegments("/orders"), guarded => guarded.Use(async (context, next) =>
{
    LimitShare share = limit.With(PriorityOf(context.Request), TimeOf(context.Request));
    try
    {
        await share.ExecuteAsync(async token =>
        {
            await next(context);

            // The middleware has the answer's status and no exception: what the limit learns from is the exception.
            if (context.Response.StatusCode >= 500)
            {
                throw new FailedResponseException();
            }
        }, context.RequestAborted);
    }
    catch (ConcurrencyLimitRejectedException)
    {
        context.Response.StatusCode = StatusCodes.Status503ServiceUnavailable;
        context.Response.Headers.RetryAfter = "1";
    }
    catch (FailedResponseException)
    {
        // It has been written already.
    }
    catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
    {
        // The client has gone, in the queue or in the middle of its call. The permit is free.
    }
}));

// The database, which can do eight things at once. It ends what nobody waits for.
using SemaphoreSlim database = new(8);
int answered = 0;
app.MapGet("/orders/{id}", async (int id, CancellationToken aborted) =>
{
    await database.WaitAsync(aborted);
    try
    {
        await Task.Delay(40, aborted);
        Interlocked.Increment(ref answered);
        return Results.Text($"order {id}\n");
    }
    finally
    {
        database.Release();
    }
});

// What the service is doing, whatever its load.
app.MapGet("/limit", () => $"{limit.GetSnapshot()}, {answered} answered\n");

await app.StartAsync();
Console.WriteLine($"listening on {app.Urls.First()}");
await app.WaitForShutdownAsync();

static CallPriority PriorityOf(HttpRequest request) =>
    Enum.TryParse(request.Headers["X-Priority"], ignoreCase: true, out CallPriority priority) && Enum.IsDefined(priority) ? priority : CallPriority.Normal;

// In how many milliseconds the client leaves, if it says so.
static TimeSpan TimeOf(HttpRequest request) =>
    TimeSpan.FromMilliseconds(int.TryParse(request.Headers["X-Deadline-Ms"], out int ms) && ms is > 0 and < 60_000 ? ms : 2_000);

internal sealed class FailedResponseException : Exception;

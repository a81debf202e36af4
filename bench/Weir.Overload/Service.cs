using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;
using Polly;
using Polly.RateLimiting;
using Weir.Resilience;

namespace Weir.Overload;

/// <summary>The server's process: a web service whose calls need a <see cref="Capacity"/>, behind the guard of its arm.</summary>
internal static class Service
{
    /// <summary>The header with the milliseconds after which the client leaves.</summary>
    public const string DeadlineHeader = "X-Deadline-Ms";

    /// <summary>The header with the priority.</summary>
    public const string PriorityHeader = "X-Priority";

    public static async Task RunAsync(Setting setting)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(static kestrel => kestrel.AddServerHeader = false);

        // A client that leaves closes its connection, so up to 2,000 come anew in a second. The usual 512 places are full after a quarter of a second in which the
        // machine is busy elsewhere, and then it is the kernel that drops calls.
        builder.WebHost.UseSockets(static sockets => sockets.Backlog = 4096);
        await using WebApplication app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");

        Capacity capacity = new(setting.Server, Setting.Slots);
        IGuard guard = Of(setting.Arm);
        app.MapGet("/work", async context =>
        {
            CancellationToken token = setting.Notices ? context.RequestAborted : CancellationToken.None;
            double seconds = double.Parse(context.Request.Query["s"].ToString(), CultureInfo.InvariantCulture);
            try
            {
                context.Response.StatusCode = await guard.TryAsync(context.Request.Headers, t => new ValueTask(capacity.WorkAsync(seconds, t)), token)
                    ? StatusCodes.Status200OK
                    : StatusCodes.Status503ServiceUnavailable;
            }
            catch (OperationCanceledException) when (token.IsCancellationRequested)
            {
                // Nobody is there to be answered.
            }
        });
        app.MapGet("/state", () =>
        {
            (int limit, int waiting) = guard.State;
            return Results.Text(JsonSerializer.Serialize(new State(limit, waiting, capacity.Done, Stopwatch.GetTimestamp(), Environment.CpuUsage.TotalTime)));
        });
        app.MapPost("/change", (int slots, double rate) => capacity.Change(slots, rate));

        await app.StartAsync();
        Console.WriteLine(app.Urls.First());

        // It ends with the process that has started it.
        await Console.In.ReadToEndAsync();
        await app.StopAsync(new CancellationToken(canceled: true));
    }

    /// <summary>What the server is doing, and what its process has used until a moment of its own clock: an answer may come late.</summary>
    internal sealed record State(int Limit, int Waiting, long Done, long Moment, TimeSpan Processor)
    {
        /// <summary>Processors used in the mean since an earlier state; 0 if it was just now.</summary>
        public double CoresSince(State earlier)
        {
            TimeSpan passed = Stopwatch.GetElapsedTime(earlier.Moment, Moment);
            return passed < TimeSpan.FromSeconds(1) ? 0 : (Processor - earlier.Processor) / passed;
        }
    }

    private static IGuard Of(string arm) => arm switch
    {
        Arms.Nothing => new Open(),
        Arms.Polly => new PollyLimiter(),
        Arms.Fixed => new Fixed(),
        Arms.Weir or Arms.NoBudget => new Adaptive(hasDeadlines: true),
        Arms.NoDeadlines => new Adaptive(hasDeadlines: false),
        _ => throw new ArgumentException($"There is no arm '{arm}'.", nameof(arm)),
    };

    private interface IGuard
    {
        (int Limit, int Waiting) State { get; }

        /// <returns>False if it refuses the call.</returns>
        ValueTask<bool> TryAsync(IHeaderDictionary headers, Func<CancellationToken, ValueTask> call, CancellationToken token);
    }

    private sealed class Open : IGuard
    {
        public (int Limit, int Waiting) State => default;

        public async ValueTask<bool> TryAsync(IHeaderDictionary headers, Func<CancellationToken, ValueTask> call, CancellationToken token)
        {
            await call(token);
            return true;
        }
    }

    /// <summary>Knows the number of slots, and has the ratio of queue to permits of Polly's documentation (100 and 50).</summary>
    private sealed class PollyLimiter : IGuard
    {
        private readonly ResiliencePipeline _pipeline = new ResiliencePipelineBuilder().AddConcurrencyLimiter(Setting.Slots, Setting.Slots / 2).Build();

        public (int Limit, int Waiting) State => (Setting.Slots, 0);

        public async ValueTask<bool> TryAsync(IHeaderDictionary headers, Func<CancellationToken, ValueTask> call, CancellationToken token)
        {
            try
            {
                await _pipeline.ExecuteAsync(call, token);
                return true;
            }
            catch (RateLimiterRejectedException)
            {
                return false;
            }
        }
    }

    /// <summary>Knows the number of slots, with the usual queue.</summary>
    private sealed class Fixed : IGuard
    {
        private readonly SharedConcurrencyLimit _limit = new(Setting.Slots);

        public (int Limit, int Waiting) State => (_limit.Limit, _limit.Waiting);

        public async ValueTask<bool> TryAsync(IHeaderDictionary headers, Func<CancellationToken, ValueTask> call, CancellationToken token)
        {
            try
            {
                await _limit.ExecuteAsync(call, token);
                return true;
            }
            catch (ConcurrencyLimitRejectedException)
            {
                return false;
            }
        }
    }

    /// <summary>Knows no number: all of its options are the usual ones.</summary>
    private sealed class Adaptive(bool hasDeadlines) : IGuard
    {
        private readonly AdaptiveLimit _limit = new();

        public (int Limit, int Waiting) State => (_limit.Limit, _limit.Waiting);

        public async ValueTask<bool> TryAsync(IHeaderDictionary headers, Func<CancellationToken, ValueTask> call, CancellationToken token)
        {
            CallPriority priority = Enum.Parse<CallPriority>(headers[PriorityHeader].ToString());
            TimeSpan within = TimeSpan.FromMilliseconds(double.Parse(headers[DeadlineHeader].ToString(), CultureInfo.InvariantCulture));
            try
            {
                await _limit.With(priority, hasDeadlines ? within : null).ExecuteAsync(call, token);
                return true;
            }
            catch (ConcurrencyLimitRejectedException)
            {
                return false;
            }
        }
    }
}

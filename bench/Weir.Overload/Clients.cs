using System.Globalization;
using System.Net;
using Microsoft.Extensions.DependencyInjection;
using Weir.Http;
using Weir.Resilience;

namespace Weir.Overload;

/// <summary>The clients of an arm: one <see cref="HttpClient"/> whose handler retries as that arm does.</summary>
internal sealed class Clients : IAsyncDisposable
{
    private static readonly HttpRequestOptionsKey<Call> Key = new("call");

    private readonly ServiceProvider _services;
    private readonly HttpClient _client;

    public Clients(string arm, Uri address)
    {
        ServiceCollection services = new();
        IHttpClientBuilder client = services.AddHttpClient("", http =>
        {
            http.BaseAddress = address;
            http.Timeout = Timeout.InfiniteTimeSpan;
        });
        if (arm == Arms.Polly)
        {
            // The standard pipeline: a limiter of 1,000, the total time, retries, a breaker, the time of an attempt. Its times are those of its documentation in the
            // scale of the deadline (30 s there), but for the break, which is at least 500 ms.
            client.AddStandardResilienceHandler(static options =>
            {
                options.TotalRequestTimeout.Timeout = Setting.Deadline;
                options.AttemptTimeout.Timeout = Setting.Attempt;
                options.Retry.MaxRetryAttempts = Setting.Retries;
                options.Retry.Delay = Setting.Delay;
                options.CircuitBreaker.SamplingDuration = Setting.Deadline;
                options.CircuitBreaker.BreakDuration = TimeSpan.FromMilliseconds(500);
            });
        }
        else
        {
            PolicyChain chain = new(new PolicyChainOptions
            {
                TotalTimeout = Setting.Deadline,
                AttemptTimeout = Setting.Attempt,
                Retry = new()
                {
                    MaxRetries = Setting.Retries,
                    BaseDelay = Setting.Delay,
                    IsTransient = HttpRetry.IsTransient,
                    Budget = arm is Arms.Weir or Arms.NoDeadlines ? new RetryBudget() : null,
                },
            });
            client.AddHttpMessageHandler(_ => new HttpPolicyHandler(chain));
        }

        client.AddHttpMessageHandler(static () => new Attempts());
        client.ConfigurePrimaryHttpMessageHandler(static () => new SocketsHttpHandler { PooledConnectionIdleTimeout = TimeSpan.FromSeconds(30) });
        client.SetHandlerLifetime(Timeout.InfiniteTimeSpan);
        _services = services.BuildServiceProvider();
        _client = _services.GetRequiredService<IHttpClientFactory>().CreateClient("");
    }

    /// <summary>Makes a call.</summary>
    /// <returns>Whether it was answered.</returns>
    public async Task<bool> CallAsync(Call call)
    {
        using HttpRequestMessage request = new(HttpMethod.Get, string.Create(CultureInfo.InvariantCulture, $"/work?s={call.Work:0.00000}"));
        request.Headers.Add(Service.PriorityHeader, call.Priority.ToString());
        request.Options.Set(Key, call);
        try
        {
            using HttpResponseMessage response = await _client.SendAsync(request);
            return response.StatusCode == HttpStatusCode.OK;
        }
        catch (Exception)
        {
            // A time limit, an open circuit, a connection that was refused.
            return false;
        }
    }

    public async ValueTask DisposeAsync()
    {
        _client.Dispose();
        await _services.DisposeAsync();
    }

    /// <summary>Counts the attempts of a call, and tells the server how long each of them will wait.</summary>
    private sealed class Attempts : DelegatingHandler
    {
        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            if (!request.Options.TryGetValue(Key, out Call? call))
            {
                throw new InvalidOperationException("A request has no call.");
            }

            call.Attempts++;
            TimeSpan left = Setting.Deadline - call.Age;
            double within = Math.Max(1, (left < Setting.Attempt ? left : Setting.Attempt).TotalMilliseconds);
            request.Headers.Remove(Service.DeadlineHeader);
            request.Headers.Add(Service.DeadlineHeader, within.ToString("0", CultureInfo.InvariantCulture));
            HttpResponseMessage response = await base.SendAsync(request, cancellationToken);
            call.Refused += response.StatusCode == HttpStatusCode.ServiceUnavailable ? 1 : 0;
            return response;
        }
    }
}

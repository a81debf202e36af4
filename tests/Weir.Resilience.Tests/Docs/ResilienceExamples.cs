namespace Weir.Resilience.Tests.Docs;

/// <summary>The code of docs/resilience.md, compiled. <see cref="ResilienceDocTests"/> compares the two.</summary>
internal static class ResilienceExamples
{
    public static async Task<string> ChainAsync(CancellationToken cancellationToken)
    {
        var breaker = new CircuitBreaker(new CircuitBreakerOptions { FailureThreshold = 5, OpenTimeout = TimeSpan.FromSeconds(30) });
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 50, BurstCapacity = 10 });

        var chain = new PolicyChain<string>(new PolicyChainOptions<string>
        {
            Fallback = new FallbackOptions<string> { Handler = static (exception, _) => new ValueTask<string>("from the cache") },
            TotalTimeout = TimeSpan.FromSeconds(20),
            Retry = new RetryOptions { MaxRetries = 3, BackoffStrategy = BackoffStrategy.ExponentialJitter },
            CircuitBreaker = breaker,
            RateLimit = bucket,
            AttemptTimeout = TimeSpan.FromSeconds(5),
        });

        string page = await chain.ExecuteAsync(token => LoadAsync("/prices", token), cancellationToken);
        return page;
    }

    public static async Task<string> RetryAsync(RetryPolicy policy, string path, TimeProvider time, CancellationToken cancellationToken)
    {
        TimeSpan delay = TimeSpan.Zero;
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                return await LoadAsync(path, cancellationToken);
            }
            catch (Exception exception)
            {
                if (policy.GetDelay(attempt, exception, delay, cancellationToken) is not { } next)
                {
                    throw;
                }

                delay = next;
            }

            await Task.Delay(TimerDelay.RoundUp(delay), time, cancellationToken);
        }
    }

    public static async Task<string> BreakerAsync(CircuitBreaker breaker, string path, CancellationToken cancellationToken)
    {
        if (!breaker.TryEnter(out CircuitTicket ticket))
        {
            throw breaker.CreateRejection();
        }

        try
        {
            string result = await LoadAsync(path, cancellationToken);
            breaker.Succeeded(ticket);
            return result;
        }
        catch (Exception exception)
        {
            breaker.Report(ticket, exception, cancellationToken);
            throw;
        }
    }

    private static async ValueTask<string> LoadAsync(string path, CancellationToken cancellationToken)
    {
        await Task.Yield();
        cancellationToken.ThrowIfCancellationRequested();
        return path == "/broken" ? throw new IOException(path) : "page " + path;
    }
}

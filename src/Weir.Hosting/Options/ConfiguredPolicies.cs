using System.Runtime.CompilerServices;
using Microsoft.Extensions.Configuration;
using Weir.Resilience;
using Circuit = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.Resilience.CircuitBreakerOptions>>;
using Policy = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.ParallelRunOptions>>;
using Retries = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.Resilience.RetryOptions>>;
using Tokens = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.Resilience.RateLimitOptions>>;

namespace Weir.Hosting;

/// <summary>Reads the policies of a worker from its section of the configuration: those that text can express. The others stay as code has set them.</summary>
internal static class ConfiguredPolicies
{
    private static readonly Dictionary<string, Policy.Reader> Policies = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(ParallelRunOptions.MaxRetries)] = Policy.Whole(static (o, v) => o.Value = o.Value! with { MaxRetries = v }),
        [nameof(ParallelRunOptions.BaseDelay)] = Policy.Time(static (o, v) => o.Value = o.Value! with { BaseDelay = v }),
        [nameof(ParallelRunOptions.BackoffStrategy)] = Policy.Name<BackoffStrategy>(static (o, v) => o.Value = o.Value! with { BackoffStrategy = v }),
        [nameof(ParallelRunOptions.Retry)] = Policy.Group(ReadRetry),
        [nameof(ParallelRunOptions.AttemptTimeout)] = Policy.Time(static (o, v) => o.Value = o.Value! with { AttemptTimeout = v }),
        [nameof(ParallelRunOptions.OpenCircuitMode)] = Policy.Name<OpenCircuitMode>(static (o, v) => o.Value = o.Value! with { OpenCircuitMode = v }),
        [nameof(ParallelRunOptions.CircuitBreaker)] = Policy.Group(ReadBreaker),
        [nameof(ParallelRunOptions.RateLimit)] = Policy.Group(ReadRate),
    };

    private static readonly Dictionary<string, Retries.Reader> Retry = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(RetryOptions.MaxRetries)] = Retries.Whole(static (o, v) => o.Value = o.Value! with { MaxRetries = v }),
        [nameof(RetryOptions.BaseDelay)] = Retries.Time(static (o, v) => o.Value = o.Value! with { BaseDelay = v }),
        [nameof(RetryOptions.MaxDelay)] = Retries.Time(static (o, v) => o.Value = o.Value! with { MaxDelay = v }),
        [nameof(RetryOptions.BackoffStrategy)] = Retries.Name<BackoffStrategy>(static (o, v) => o.Value = o.Value! with { BackoffStrategy = v }),
    };

    private static readonly Dictionary<string, Circuit.Reader> Breaker = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(CircuitBreakerOptions.FailureThreshold)] = Circuit.Whole(static (o, v) => o.Value = o.Value! with { FailureThreshold = v }),
        [nameof(CircuitBreakerOptions.SuccessThreshold)] = Circuit.Whole(static (o, v) => o.Value = o.Value! with { SuccessThreshold = v }),
        [nameof(CircuitBreakerOptions.OpenTimeout)] = Circuit.Time(static (o, v) => o.Value = o.Value! with { OpenTimeout = v }),
        [nameof(CircuitBreakerOptions.SamplingDuration)] = Circuit.Time(static (o, v) => o.Value = o.Value! with { SamplingDuration = v }),
        [nameof(CircuitBreakerOptions.FailureRatio)] = Circuit.Number(static (o, v) => o.Value = o.Value! with { FailureRatio = v }),
        [nameof(CircuitBreakerOptions.Name)] = Circuit.Text(static (o, v) => o.Value = o.Value! with { Name = v }),
        [nameof(CircuitBreakerOptions.MinimumThroughput)] = Circuit.Whole(static (o, v) => o.Value = o.Value! with { MinimumThroughput = v }),
    };

    private static readonly Dictionary<string, Tokens.Reader> Rate = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(RateLimitOptions.TokensPerSecond)] = Tokens.Number(static (o, v) => o.Value = o.Value! with { TokensPerSecond = v }),
        [nameof(RateLimitOptions.BurstCapacity)] = Tokens.Number(static (o, v) => o.Value = o.Value! with { BurstCapacity = v }),
        [nameof(RateLimitOptions.Name)] = Tokens.Text(static (o, v) => o.Value = o.Value! with { Name = v }),
        [nameof(RateLimitOptions.TokensPerOperation)] = Tokens.Number(static (o, v) => o.Value = o.Value! with { TokensPerOperation = v }),
    };

    public static string? Read(WeirWorkerOptions options, IConfigurationSection section)
    {
        StrongBox<ParallelRunOptions> read = new(options.Policies ?? new ParallelRunOptions());
        string? problem = Policy.ReadAll(read, section, Policies, "the policies of a worker");
        options.Policies = read.Value;
        return problem;
    }

    private static string? ReadRetry(StrongBox<ParallelRunOptions> policies, IConfigurationSection section)
    {
        StrongBox<RetryOptions> read = new(policies.Value!.Retry ?? new RetryOptions());
        string? problem = Retries.ReadAll(read, section, Retry, "retries");
        policies.Value = policies.Value with { Retry = read.Value };
        return problem;
    }

    private static string? ReadBreaker(StrongBox<ParallelRunOptions> policies, IConfigurationSection section)
    {
        if (policies.Value!.CircuitBreaker is { IsShared: true })
        {
            return IsShared(section);
        }

        StrongBox<CircuitBreakerOptions> read = new(policies.Value.CircuitBreaker ?? new CircuitBreakerOptions());
        string? problem = Circuit.ReadAll(read, section, Breaker, "a circuit breaker");
        policies.Value = policies.Value with { CircuitBreaker = read.Value };
        return problem;
    }

    private static string? ReadRate(StrongBox<ParallelRunOptions> policies, IConfigurationSection section)
    {
        if (policies.Value!.RateLimit is { IsShared: true })
        {
            return IsShared(section);
        }

        StrongBox<RateLimitOptions> read = new(policies.Value.RateLimit ?? new RateLimitOptions());
        string? problem = Tokens.ReadAll(read, section, Rate, "a rate limit");
        policies.Value = policies.Value with { RateLimit = read.Value };
        return problem;
    }

    private static string IsShared(IConfigurationSection section) => $"{section.Path} is set, and code sets one that is shared; set only one of them.";
}

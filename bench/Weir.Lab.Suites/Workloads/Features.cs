namespace Weir.Lab.Suites.Workloads;

/// <summary>Each policy of a run, switched on with values at which it does not act.</summary>
internal static class Features
{
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(100);

    public static ParallelRunOptions Retries(ParallelRunOptions options) => options with { MaxRetries = 3 };

    public static ParallelRunOptions CircuitBreaker(ParallelRunOptions options) =>
        options with { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 5, SuccessThreshold = 2, OpenTimeout = TimeSpan.FromSeconds(10) } };

    /// <summary>A rate that is never reached.</summary>
    public static ParallelRunOptions RateLimit(ParallelRunOptions options) =>
        options with { RateLimit = new RateLimitOptions { TokensPerSecond = 1e9, BurstCapacity = 1e9 } };

    public static ParallelRunOptions AttemptTimeout(ParallelRunOptions options) => options with { AttemptTimeout = TimeSpan.FromSeconds(10) };

    public static ParallelRunOptions PerItemTimeout(ParallelRunOptions options) => options with { PerItemTimeout = TimeSpan.FromSeconds(10) };

    public static ParallelRunOptions Fallback(ParallelRunOptions options) => options with { OnFallback = Weir.Fallback.Of(static (_, _) => -1) };

    /// <summary>An adaptive limit that can only be the fixed one.</summary>
    public static ParallelRunOptions Adaptive(ParallelRunOptions options) => options with
    {
        AdaptiveConcurrency = new() { MinConcurrency = options.MaxDegreeOfParallelism, MaxConcurrency = options.MaxDegreeOfParallelism },
    };

    /// <summary>Hooks that do nothing.</summary>
    public static ParallelRunOptions Hooks(ParallelRunOptions options) => options with
    {
        OnStartItemAsync = static _ => default,
        OnCompleteItemAsync = static _ => default,
        OnErrorAsync = static (_, _) => new(true),
    };

    public static ParallelRunOptions Progress(ParallelRunOptions options) => options with
    {
        Progress = new() { ReportInterval = Interval, OnProgressAsync = static _ => default },
    };

    public static ParallelRunOptions Metrics(ParallelRunOptions options) => options with
    {
        Metrics = new() { SampleInterval = Interval, OnMetricsSample = static _ => default },
    };

    /// <summary>All policies and hooks around a call together.</summary>
    public static ParallelRunOptions All(ParallelRunOptions options) =>
        Metrics(Progress(Fallback(AttemptTimeout(PerItemTimeout(RateLimit(CircuitBreaker(Retries(options))))))));
}

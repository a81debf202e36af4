using Weir.Resilience;

namespace Weir.Lab.Runtimes;

/// <summary>The tables of Rivulet's page on benchmarks, version 2.0, in its order. Its machine has 16 cores and Windows, with timer ticks of 15.6 ms.</summary>
internal static class PublishedTables
{
    private const string Features = "Advanced features: 500 items, 2 ms each, at most 16 at once";
    private const string Batches = "Batches: 5,000 items, 5 ms a batch, at most 4 at once";
    private const string Limits = "Limits: 1,000 items, 1 ms each";
    private const string Operators = "Operators: 1,000 items";
    private const string Failures = "Failures and retries: 500 items, at most 8 at once";

    private static Func<int, CancellationToken, ValueTask<int>> Waiting { get; } = Items.Delaying(2);

    private static Func<int, CancellationToken, ValueTask<int>> Short { get; } = Items.Delaying(1);

    private static Func<int, CancellationToken, ValueTask<int>> Long { get; } = Items.Delaying(5);

    private static ParallelRunOptions Exponential { get; } = Items.Retrying(BackoffStrategy.Exponential);

    private static ParallelRunOptions Jitter { get; } = Items.Retrying(BackoffStrategy.ExponentialJitter);

    /// <summary>All rows, table after table.</summary>
    public static IReadOnlyList<TableRow> All { get; } =
    [
        new(Features, "No advanced features", new("500.2 ms, 285.1 KB", "504.0 ms, 285.1 KB"),
            Items.SumOf(500), () => FeatureAsync(static o => o), static () => Items.PlatformAsync(500, Waiting, 16)),
        new(Features, "With CircuitBreaker", new("501.9 ms, 512.5 KB", "504.3 ms, 511.5 KB"),
            Items.SumOf(500), () => FeatureAsync(static o => o with { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 5 } }), null),
        new(Features, "With RateLimit", new("502.3 ms, 316.1 KB", "503.6 ms, 316.9 KB"),
            Items.SumOf(500), () => FeatureAsync(static o => o with { RateLimit = new RateLimitOptions { TokensPerSecond = 1e9, BurstCapacity = 1e9 } }), null),
        new(Features, "With AdaptiveConcurrency", new("1775.3 ms, 583.7 KB", "1781.2 ms, 584.3 KB"),
            Items.SumOf(500), () => FeatureAsync(static o => o with { AdaptiveConcurrency = new() { MinConcurrency = 1, MaxConcurrency = 16 } }), null),
        new(Features, "With Progress tracking", new("502.2 ms, 288.7 KB", "503.6 ms, 288.8 KB"),
            Items.SumOf(500), () => FeatureAsync(static o => o with { Progress = new() { OnProgressAsync = static _ => default } }), null),
        new(Features, "With Metrics tracking", new("503.6 ms, 291.4 KB", "502.0 ms, 288.6 KB"),
            Items.SumOf(500), () => FeatureAsync(static o => o with { Metrics = new() { OnMetricsSample = static _ => default } }), null),
        new(Features, "With all features combined", new("504.1 ms, 549.7 KB", "498.4 ms, 551.0 KB"),
            Items.SumOf(500), () => FeatureAsync(Everything), null),
        new(Batches, "BatchParallelAsync, 100 a batch", new("31.32 ms, 78.69 KB", "31.18 ms, 78.39 KB"),
            Items.SumOf(5000), static () => Items.BatchesAsync(5000, 100), static () => Items.PlatformBatchesAsync(5000, 100)),
        new(Batches, "BatchParallelStreamAsync, 100 a batch", new("31.34 ms, 98.45 KB", "31.28 ms, 96.37 KB"),
            Items.SumOf(5000), static () => Items.BatchStreamAsync(5000, 100), null),
        new(Batches, "Baseline: individual items, 5 ms, at most 32 at once", new("2466.7 ms, 2712.6 KB", "2460.5 ms, 2714.8 KB"),
            Items.SumOf(5000), static () => Items.ListAsync(5000, Long, Items.Limit(32)), static () => Items.PlatformAsync(5000, Long, 32)),
        new(Batches, "BatchParallelAsync, 500 a batch", new("15.62 ms, 47.75 KB", "15.61 ms, 47.80 KB"),
            Items.SumOf(5000), static () => Items.BatchesAsync(5000, 500), static () => Items.PlatformBatchesAsync(5000, 500)),
        new(Batches, "BatchParallelStreamAsync, 500 a batch", new("15.61 ms, 81.30 KB", "15.68 ms, 79.87 KB"),
            Items.SumOf(5000), static () => Items.BatchStreamAsync(5000, 500), null),
        new(Batches, "BatchParallelAsync, 1,000 a batch", new("15.63 ms, 44.96 KB", "15.59 ms, 44.86 KB"),
            Items.SumOf(5000), static () => Items.BatchesAsync(5000, 1000), static () => Items.PlatformBatchesAsync(5000, 1000)),
        new(Batches, "BatchParallelStreamAsync, 1,000 a batch", new("15.60 ms, 72.42 KB", "15.59 ms, 69.83 KB"),
            Items.SumOf(5000), static () => Items.BatchStreamAsync(5000, 1000), null),
        LimitRow(1, new("15,610 ms, 545.12 KB", "15,614 ms, 540.99 KB")),
        LimitRow(2, new("7,805 ms, 545.91 KB", "7,799 ms, 541.79 KB")),
        LimitRow(4, new("3,899 ms, 547.34 KB", "3,901 ms, 547.58 KB")),
        LimitRow(8, new("1,950 ms, 546.80 KB", "1,948 ms, 549.13 KB")),
        LimitRow(16, new("984 ms, 554.55 KB", "983 ms, 555.53 KB")),
        LimitRow(32, new("498 ms, 566.96 KB", "498 ms, 565.39 KB")),
        LimitRow(64, new("249 ms, 586.94 KB", "249 ms, 586.75 KB")),
        LimitRow(128, new("125 ms, 630.17 KB", "125 ms, 630.69 KB")),
        new(Operators, "CPU-bound (light), at most 8 at once", new("2.03 ms, 335.33 KB", "1.63 ms, 327.40 KB"),
            Items.SumOf(1000), static () => Items.ListAsync(1000, Items.TwiceAsync, Items.Limit(8)),
            static () => Items.PlatformAsync(1000, Items.TwiceAsync, 8)),
        new(Operators, "I/O simulation, 1 ms, at most 32 at once", new("499.10 ms, 563.38 KB", "497.71 ms, 565.04 KB"),
            Items.SumOf(1000), static () => Items.ListAsync(1000, Short, Items.Limit(32)), static () => Items.PlatformAsync(1000, Short, 32)),
        new(Operators, "Ordered output, the same", new("498.11 ms, 716.23 KB", "498.05 ms, 716.22 KB"),
            Items.SumOf(1000), static () => Items.ListAsync(1000, Short, Items.Limit(32) with { OrderedOutput = true }), null),
        new(Operators, "StreamAsync, light, at most 8 at once", new("1.66 ms, 372.53 KB", "1.40 ms, 263.34 KB"),
            Items.SumOf(1000), static () => Items.StreamAsync(1000, Items.Limit(8)), null),
        new(Operators, "ForEachAsync, light, at most 8 at once", new("1.71 ms, 368.39 KB", "1.41 ms, 257.72 KB"),
            Items.SumOf(1000), static () => Items.ForEachAsync(1000, Items.Limit(8)), static () => Items.PlatformOneByOneAsync(1000)),
        new(Operators, "Baseline: sequential, 1 ms", new("15,617 ms, 173.22 KB", "15,604 ms, 172.90 KB"),
            Items.SumOf(1000), null, static () => Items.SequentialAsync(1000, Short)),
        new(Operators, "Baseline: Task.WhenAll, 1 ms", new("15.59 ms, 286.10 KB", "15.60 ms, 286.11 KB"),
            Items.SumOf(1000), null, static () => Items.WhenAllAsync(1000, Short)),
        new(Failures, "No retries (success)", new("714 us, 216.75 KB", "554 us, 181.92 KB"),
            Items.SumOf(500), static () => Items.ListAsync(500, Items.TwiceAsync, Items.Limit(8)),
            static () => Items.PlatformAsync(500, Items.TwiceAsync, 8)),
        new(Failures, "Retries (10% failures)", new("109.1 ms, 150.18 KB", "109.1 ms, 149.29 KB"),
            Items.SumOf(500), static () => Items.ListAsync(500, Items.Failing(10, 1, 500), Exponential),
            static () => Items.PlatformRetryingAsync(500, Items.Failing(10, 1, 500))),
        new(Failures, "ErrorMode.FailFast", new("732 us, 234.77 KB", "555 us, 191.98 KB"),
            Items.SumOf(500), static () => Items.ListAsync(500, Items.TwiceAsync, Items.Limit(8) with { ErrorMode = ErrorMode.FailFast }), null),
        new(Failures, "ErrorMode.BestEffort", new("728 us, 228.98 KB", "550 us, 180.66 KB"),
            Items.SumOf(500), static () => Items.ListAsync(500, Items.TwiceAsync, Items.Limit(8) with { ErrorMode = ErrorMode.BestEffort }), null),
        new(Failures, "Backoff.ExponentialJitter", new("31.2 ms, 136.31 KB", "30.8 ms, 135.81 KB"),
            Items.SumOf(500), static () => Items.ListAsync(500, Items.Failing(20, 2, 500), Jitter), null),
        new(Failures, "Backoff.Exponential", new("124.3 ms, 144.98 KB", "124.3 ms, 144.28 KB"),
            Items.SumOf(500), static () => Items.ListAsync(500, Items.Failing(20, 2, 500), Exponential),
            static () => Items.PlatformRetryingAsync(500, Items.Failing(20, 2, 500))),
    ];

    private static TableRow LimitRow(int limit, PublishedFigures published) => new(Limits, $"at most {limit} at once", published,
        Items.SumOf(1000), () => Items.ListAsync(1000, Short, Items.Limit(limit)), () => Items.PlatformAsync(1000, Short, limit));

    private static Task<long> FeatureAsync(Func<ParallelRunOptions, ParallelRunOptions> with) => Items.ListAsync(500, Waiting, with(Items.Limit(16)));

    private static ParallelRunOptions Everything(ParallelRunOptions options) => options with
    {
        CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 5 },
        RateLimit = new RateLimitOptions { TokensPerSecond = 1e9, BurstCapacity = 1e9 },
        Progress = new() { OnProgressAsync = static _ => default },
        Metrics = new() { OnMetricsSample = static _ => default },
    };
}

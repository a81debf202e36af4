using System.Reflection;
using Weir.Observability;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Docs;

/// <summary>What docs/reference/migrating-from-rivulet.md says of values that options accept and refuse.</summary>
public class MigrationValuesTests
{
    private readonly ManualTimeProvider _time = new();

    [Fact(Timeout = 90_000)]
    public async Task InfiniteTimeSpan_WhereItMeansNone_IsNone()
    {
        int reports = 0;
        TimeSpan none = Timeout.InfiniteTimeSpan;
        ParallelRunOptions options = new()
        {
            TimeProvider = _time,
            PerItemTimeout = none,
            AttemptTimeout = none,
            AdaptiveConcurrency = new AdaptiveConcurrencyOptions { TargetLatency = none },
            Progress = new ProgressOptions { ReportInterval = none, OnProgressAsync = Count },
            Metrics = new MetricsOptions { SampleInterval = none, OnMetricsSample = Count },
        };
        Assert.Equal((null, null, null), (options.PerItemTimeout, options.AttemptTimeout, options.AdaptiveConcurrency.TargetLatency));
        using Gate gate = new();
        Task<List<int>> run = new[] { 1 }.SelectParallelAsync(
            async (x, _) =>
            {
                await gate.WaitAsync();
                return x;
            },
            options);
        _time.Advance(TimeSpan.FromDays(100));
        gate.Open();
        Assert.Equal([1], await run);
        Assert.Equal(2, reports);

        await foreach (int count in new[] { 1, 2, 3 }.Where(static x => x > 0)
            .BatchParallelStreamAsync(3, static (batch, _) => new ValueTask<int>(batch.Count), batchTimeout: none))
        {
            Assert.Equal(3, count);
        }

        await using Weir.Runtimes.ConcurrentRuntime runtime = new(2, new Weir.Runtimes.RuntimeOptions { GracePeriod = none });
        Assert.True((await runtime.ProcessManyAsync(
            [1], static (x, _) => new ValueTask<int>(x), new Weir.Runtimes.ProcessManyOptions { PerItemTimeout = none, TotalTimeout = none }))[0].IsSuccess);
        var chain = new PolicyChain<int>(new PolicyChainOptions<int> { TotalTimeout = none, AttemptTimeout = none });
        Assert.Equal(1, await chain.ExecuteAsync(static _ => new ValueTask<int>(1), CancellationToken.None));

        ValueTask Count<T>(T report)
        {
            Interlocked.Increment(ref reports);
            return default;
        }
    }

    [Fact(Timeout = 90_000)]
    public async Task BaseDelay_AboveMaxDelay_IsRefusedOnlyWhereThereAreRetries()
    {
        ParallelRunOptions options = new() { BaseDelay = TimeSpan.FromMinutes(10) };
        Assert.Equal([1], await new[] { 1 }.SelectParallelAsync(static (x, _) => new ValueTask<int>(x), options));
        Assert.Throws<ArgumentOutOfRangeException>(
            "MaxDelay", () => { _ = new[] { 1 }.SelectParallelAsync(static (x, _) => new ValueTask<int>(x), options with { MaxRetries = 1 }); });
    }

    [Theory]
    [InlineData(typeof(ParallelRunOptions))]
    [InlineData(typeof(AdaptiveConcurrencyOptions))]
    [InlineData(typeof(ProgressOptions))]
    [InlineData(typeof(MetricsOptions))]
    [InlineData(typeof(Weir.Runtimes.ProcessManyOptions))]
    [InlineData(typeof(Weir.Runtimes.RuntimeOptions))]
    public void Messages_OfLengthsOfTime_OfferNullOnlyWhereTheTypeHasIt(Type type)
    {
        foreach (PropertyInfo property in type.GetProperties().Where(static p => p.PropertyType == typeof(TimeSpan) || p.PropertyType == typeof(TimeSpan?)))
        {
            object options = Activator.CreateInstance(type)!;
            property.SetValue(options, TimeSpan.FromMilliseconds(-2));
            TargetInvocationException thrown = Assert.Throws<TargetInvocationException>(
                () => type.GetMethod("Validate", BindingFlags.Instance | BindingFlags.NonPublic)!.Invoke(options, null));
            ArgumentOutOfRangeException error = Assert.IsType<ArgumentOutOfRangeException>(thrown.InnerException);
            Assert.Equal(property.Name, error.ParamName);
            Assert.StartsWith(property.Name + " must be", error.Message, StringComparison.Ordinal);
            Assert.Equal(Nullable.GetUnderlyingType(property.PropertyType) is not null, error.Message.Contains("null", StringComparison.Ordinal));
        }
    }
}

using Weir.Resilience;

namespace Weir.Tests;

public class AdaptiveConcurrencyOptionsTests
{
    public static TheoryData<string, AdaptiveConcurrencyOptions> Wrong => new()
    {
        { nameof(AdaptiveConcurrencyOptions.MinConcurrency), new() { MinConcurrency = 0 } },
        { nameof(AdaptiveConcurrencyOptions.MinConcurrency), new() { MinConcurrency = -1 } },
        { nameof(AdaptiveConcurrencyOptions.MaxConcurrency), new() { MinConcurrency = 5, MaxConcurrency = 4 } },
        { nameof(AdaptiveConcurrencyOptions.MaxConcurrency), new() { MaxConcurrency = 0 } },
        { nameof(AdaptiveConcurrencyOptions.InitialConcurrency), new() { InitialConcurrency = 0 } },
        { nameof(AdaptiveConcurrencyOptions.InitialConcurrency), new() { MinConcurrency = 5, InitialConcurrency = 4 } },
        { nameof(AdaptiveConcurrencyOptions.InitialConcurrency), new() { MaxConcurrency = 8, InitialConcurrency = 9 } },
        { nameof(AdaptiveConcurrencyOptions.SampleInterval), new() { SampleInterval = TimeSpan.Zero } },
        { nameof(AdaptiveConcurrencyOptions.SampleInterval), new() { SampleInterval = TimeSpan.FromSeconds(-1) } },
        { nameof(AdaptiveConcurrencyOptions.SampleInterval), new() { SampleInterval = TimeSpan.MaxValue } },
        { nameof(AdaptiveConcurrencyOptions.TargetLatency), new() { TargetLatency = TimeSpan.Zero } },
        { nameof(AdaptiveConcurrencyOptions.TargetLatency), new() { TargetLatency = TimeSpan.MaxValue } },
        { nameof(AdaptiveConcurrencyOptions.TargetPercentile), new() { TargetPercentile = 0 } },
        { nameof(AdaptiveConcurrencyOptions.TargetPercentile), new() { TargetPercentile = 95 } },
        { nameof(AdaptiveConcurrencyOptions.TargetPercentile), new() { TargetPercentile = double.NaN } },
        { nameof(AdaptiveConcurrencyOptions.MinSuccessRate), new() { MinSuccessRate = -0.1 } },
        { nameof(AdaptiveConcurrencyOptions.MinSuccessRate), new() { MinSuccessRate = 1.1 } },
        { nameof(AdaptiveConcurrencyOptions.MinSuccessRate), new() { MinSuccessRate = double.NaN } },
        { nameof(AdaptiveConcurrencyOptions.IncreaseStrategy), new() { IncreaseStrategy = (AdaptiveConcurrencyStrategy)4 } },
        { nameof(AdaptiveConcurrencyOptions.DecreaseStrategy), new() { DecreaseStrategy = (AdaptiveConcurrencyStrategy)(-1) } },
    };

    [Theory]
    [MemberData(nameof(Wrong))]
    public void Operators_WrongValue_ThrowAtTheCallWithTheNameOfTheProperty(string property, AdaptiveConcurrencyOptions adaptive)
    {
        ParallelRunOptions options = new() { AdaptiveConcurrency = adaptive };
        Assert.Equal(property, Error(() => Enumerable.Range(0, 3).SelectParallelAsync(static (x, _) => new ValueTask<int>(x), options)).ParamName);
        Assert.Equal(property, Error(() => Items().SelectParallelStreamAsync(static (x, _) => new ValueTask<int>(x), options)).ParamName);
        Assert.Equal(property, Error(() => Enumerable.Range(0, 3).ForEachParallelAsync(static (_, _) => default, options)).ParamName);
        Assert.Equal(property, Error(() => Enumerable.Range(0, 3).BatchParallelAsync(2, static (b, _) => new ValueTask<int>(b.Count), options)).ParamName);
    }

    [Fact]
    public void Validate_EdgesOfTheRanges_AreAccepted()
    {
        Assert.NotNull(Run(new() { MinConcurrency = 1, MaxConcurrency = 1, InitialConcurrency = 1 }));
        Assert.NotNull(Run(new() { MinSuccessRate = 0, TargetPercentile = 1, TargetLatency = TimeSpan.FromTicks(1), SampleInterval = TimeSpan.FromTicks(1) }));
        Assert.NotNull(Run(new() { MinSuccessRate = 1, TargetPercentile = double.Epsilon, MaxConcurrency = int.MaxValue }));
    }

    [Theory]
    [InlineData(1, 200, null, 32)]
    [InlineData(1, 8, null, 8)]
    [InlineData(50, 200, null, 50)]
    [InlineData(1, 200, 7, 7)]
    public void InitialConcurrency_NotGiven_Is32OrTheNearestBound(int min, int max, int? initial, int expected) => Assert.Equal(
        expected,
        new AdaptiveLimit(new() { Adaptive = new() { MinConcurrency = min, MaxConcurrency = max, InitialConcurrency = initial } }).Limit);

    private static Task Run(AdaptiveConcurrencyOptions adaptive) =>
        Enumerable.Range(0, 3).SelectParallelAsync(static (x, _) => new ValueTask<int>(x), new() { AdaptiveConcurrency = adaptive });

    private static ArgumentOutOfRangeException Error(Action call) => Assert.Throws<ArgumentOutOfRangeException>(call);

    private static async IAsyncEnumerable<int> Items()
    {
        await Task.Yield();
        yield return 1;
    }
}

using FsCheck;
using FsCheck.Fluent;
using Weir.Core.Dispatch;
using Random = System.Random;

namespace Weir.Core.Tests.Dispatch.Adaptive;

/// <summary>What one window does to the limit.</summary>
public class AdaptiveLawTests
{
    [Fact]
    public void Decide_GoodWindows_DoublesUpToTheFirstBadSign()
    {
        AdaptiveLaw law = new(Settings(initial: 4));
        Assert.Equal([8, 16, 32, 64, 128], Limits(law, 5, static law => Window(law, 100)));
        Assert.True(law.IsDoubling);

        // Twice the latency at twice the load: all of the last doubling queues.
        law.Decide(Window(law, 200));
        Assert.False(law.IsDoubling);
        Assert.Equal(64, law.Limit);
    }

    [Fact]
    public void Decide_CallsThatEndTogetherAtTheHighestLimit_LowerNothingHoweverTheyDiffer()
    {
        AdaptiveLaw law = new(Settings(initial: 200));
        foreach (double latency in (double[])[100, 400, 100, 200, 600, 100, 400, 400, 200, 400])
        {
            law.Decide(Window(law, latency) with { Moments = 1, Error = 0.5 });
            Assert.Equal(200, law.Limit);
        }
    }

    [Fact]
    public void Decide_CallsThatEndTogetherLaterWithEachDoubling_EndsTheDoublingAtTheSecondTime()
    {
        AdaptiveLaw law = new(Settings(initial: 16));
        Assert.Equal([32, 64, 32], new[] { 100.0, 200, 400 }.Select(latency =>
        {
            law.Decide(Window(law, latency) with { Moments = 2, Error = 0.35 });
            return law.Limit;
        }));
        Assert.False(law.IsDoubling);
    }

    [Fact]
    public void Decide_AfterALowering_SkipsTheCallsOfTheOldLimit()
    {
        AdaptiveLaw law = new(Settings(initial: 32));
        law.Decide(Window(law, 100));
        Assert.Equal((64, 0), (law.Limit, law.Skip));
        law.Decide(Window(law, 200));
        Assert.Equal((32, 64), (law.Limit, law.Skip));
    }

    [Fact]
    public void Decide_LatencyAboveTheBaseline_GoesToWhereItWouldBeAtTheBaseline()
    {
        AdaptiveLaw law = Steady(limit: 64, latency: 100);
        int before = law.Limit;
        law.Decide(Window(law, 160));
        Assert.InRange(law.Limit, (before / 1.6) - 1, (before / 1.6) + 1);
    }

    [Fact]
    public void Decide_LatencyFarAboveTheBaseline_LeavesAQuarter()
    {
        AdaptiveLaw law = Steady(limit: 64, latency: 100);
        int before = law.Limit;
        law.Decide(Window(law, 700));
        Assert.Equal(before / 4.0, law.Limit, 1.0);
    }

    [Fact]
    public void Decide_LimitNotReached_DoesNotGrow()
    {
        foreach (AdaptiveConcurrencyStrategy strategy in Enum.GetValues<AdaptiveConcurrencyStrategy>())
        {
            AdaptiveLaw law = new(Settings(initial: 32) with { Increase = strategy, Decrease = strategy });
            Assert.Equal([32, 32, 32], Limits(law, 3, static law => Window(law, 100) with { InFlight = 20 }));
        }
    }

    [Fact]
    public void Decide_NoCallSucceededAndNoneHasTo_HoldsTheLimit()
    {
        AdaptiveLaw law = new(Settings(initial: 32) with { MinSuccessRate = 0 });
        Assert.Equal([32, 32], Limits(law, 2, static law => Window(law, 0) with { SuccessRate = 0 }));
    }

    [Theory]
    [InlineData(AdaptiveConcurrencyStrategy.AIMD, 41)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradual, 41)]
    [InlineData(AdaptiveConcurrencyStrategy.Aggressive, 44)]
    public void Decide_GoodWindowByStep_GrowsAsStated(AdaptiveConcurrencyStrategy increase, int expected)
    {
        AdaptiveLaw law = new(Settings(initial: 40) with { Increase = increase, Decrease = AdaptiveConcurrencyStrategy.AIMD });

        // However long it takes: without a target and without the gradient, latency is no sign.
        law.Decide(Window(law, 100));
        Assert.Equal(expected, law.Limit);
        law.Decide(Window(law, 100_000));
        Assert.True(law.Limit > expected);
    }

    [Theory]
    [InlineData(AdaptiveConcurrencyStrategy.AIMD, 20)]
    [InlineData(AdaptiveConcurrencyStrategy.Aggressive, 20)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradual, 30)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradient, 20)]
    public void Decide_TooManyFailures_FallsAsStated(AdaptiveConcurrencyStrategy decrease, int expected)
    {
        AdaptiveLaw law = new(Settings(initial: 40) with { Increase = AdaptiveConcurrencyStrategy.AIMD, Decrease = decrease });
        law.Decide(Window(law, 100) with { SuccessRate = 0.94 });
        Assert.Equal(expected, law.Limit);
    }

    [Theory]
    [InlineData(AdaptiveConcurrencyStrategy.AIMD, 20)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradual, 30)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradient, 32)]
    public void Decide_PercentileAboveTheTarget_FallsAsStated(AdaptiveConcurrencyStrategy decrease, int expected)
    {
        AdaptiveLaw law = new(Settings(initial: 40) with
        {
            Increase = AdaptiveConcurrencyStrategy.AIMD, Decrease = decrease, TargetLatency = TimeSpan.FromTicks(100),
        });
        law.Decide(Window(law, 90) with { Percentile = 125 });
        Assert.Equal(expected, law.Limit);
    }

    [Fact]
    public void Decide_DeeperAndDeeperQueue_FallsToMinAndNotBelow()
    {
        AdaptiveLaw law = new(Settings(initial: 40) with { Min = 3, Increase = AdaptiveConcurrencyStrategy.AIMD, Decrease = AdaptiveConcurrencyStrategy.AIMD });
        Assert.Equal([20, 10, 5, 3, 3], Limits(law, 5, static law => Window(law, 100) with { SuccessRate = 0 }));
    }

    [Fact]
    public void Decide_StepsAtTheEdgeOfInt_StayWithinBounds()
    {
        foreach (AdaptiveConcurrencyStrategy strategy in Enum.GetValues<AdaptiveConcurrencyStrategy>())
        {
            AdaptiveLaw law = new(Settings(initial: int.MaxValue) with { Max = int.MaxValue, Increase = strategy, Decrease = strategy });
            law.Decide(Window(law, 100));
            Assert.Equal(int.MaxValue, law.Limit);
        }
    }

    [Fact]
    public void Decide_AnyWindows_KeepsTheLimitWithinItsBoundsAndNumbers() =>
        Prop.ForAll(Seeds(), static seed =>
        {
            Random random = new(seed);
            AdaptiveSettings settings = RandomSettings(random);
            AdaptiveLaw law = new(settings);
            for (int i = 0; i < 300; i++)
            {
                law.Decide(RandomWindow(random, law, settings));
                if (law.Limit < settings.Min || law.Limit > settings.Max || law.Skip < 0 || law.Samples < 1 || law.Samples > law.MaxSamples
                    || !double.IsFinite(law.Baseline) || law.Baseline < 0 || !(law.Clip > 0))
                {
                    return false;
                }
            }

            return true;
        }).QuickCheckThrowOnFailure();

    [Fact]
    public void Decide_BadWindow_NeverRaisesTheLimit() =>
        Prop.ForAll(Seeds(), static seed =>
        {
            (AdaptiveLaw law, AdaptiveSettings settings, Random random) = AfterSomeWindows(seed);
            for (int i = 0; i < 20; i++)
            {
                // A probe is left by way of its own comparison, which may restore what it had lowered.
                bool probing = law.IsProbing;
                int before = law.Limit;
                law.Decide(RandomWindow(random, law, settings) with { SuccessRate = random.NextDouble() * settings.MinSuccessRate * 0.999 });
                if (law.Limit > before && !probing && settings.MinSuccessRate > 0)
                {
                    return false;
                }
            }

            return true;
        }).QuickCheckThrowOnFailure();

    [Fact]
    public void Decide_WorseLatency_NeverGivesAHigherLimit() =>
        Prop.ForAll(Seeds(), static seed =>
        {
            Random random = new(seed);
            double better = 1 + (random.NextDouble() * 12);
            double worse = better + (random.NextDouble() * 12);
            (AdaptiveLaw one, _, _) = AfterSomeWindows(seed);
            (AdaptiveLaw other, _, _) = AfterSomeWindows(seed);
            if (one.IsProbing || one.Baseline == 0)
            {
                return true;
            }

            one.Decide(Window(one, better * one.Baseline));
            other.Decide(Window(other, worse * other.Baseline));

            // A good window may start a probe, which lowers the limit for a moment.
            return one.IsProbing || other.Limit <= one.Limit;
        }).QuickCheckThrowOnFailure();

    private static Arbitrary<int> Seeds() => Gen.Choose(0, int.MaxValue - 1).ToArbitrary();

    private static (AdaptiveLaw Law, AdaptiveSettings Settings, Random Random) AfterSomeWindows(int seed)
    {
        Random random = new(seed);
        AdaptiveSettings settings = RandomSettings(random);
        AdaptiveLaw law = new(settings);
        for (int i = random.Next(60); i > 0; i--)
        {
            law.Decide(RandomWindow(random, law, settings));
        }

        return (law, settings, random);
    }

    private static AdaptiveSettings RandomSettings(Random random)
    {
        int min = random.Next(1, 50);
        int max = min + random.Next(0, 500);
        return Settings(random.Next(min, max + 1)) with
        {
            Min = min,
            Max = max,
            Increase = (AdaptiveConcurrencyStrategy)random.Next(4),
            Decrease = (AdaptiveConcurrencyStrategy)random.Next(4),
            TargetLatency = random.Next(3) == 0 ? TimeSpan.FromTicks(random.Next(1, 1000)) : null,
            TargetPercentile = random.NextDouble() + double.Epsilon,
            MinSuccessRate = random.NextDouble(),
        };
    }

    /// <summary>Anything that can be measured, the absurd included.</summary>
    private static AdaptiveWindow RandomWindow(Random random, AdaptiveLaw law, AdaptiveSettings settings)
    {
        double latency = random.Next(10) switch
        {
            0 => 0,
            1 => 1e15 * random.NextDouble(),
            2 => double.Epsilon,
            _ => Math.Min(law.Clip, 100 * Math.Exp(3 * random.NextDouble())),
        };
        return new AdaptiveWindow
        {
            Count = random.Next(0, 100),
            SuccessRate = random.Next(3) == 0 ? random.NextDouble() : 1,
            InFlight = random.Next(3) == 0 ? random.NextDouble() * law.Limit : law.Limit,
            Latency = latency,
            Error = latency == 0 ? 0 : random.NextDouble(),
            Moments = random.Next(0, 100),
            Turnover = Math.Max(1, latency * (0.5 + random.NextDouble())),
            Percentile = settings.TargetLatency is null ? 0 : latency * (1 + random.NextDouble()),
        };
    }

    private static AdaptiveLaw Steady(int limit, double latency)
    {
        AdaptiveLaw law = new(Settings(limit));
        law.Decide(Window(law, latency));
        law.Decide(Window(law, 2 * latency));
        Assert.Equal(limit, law.Limit);
        law.Decide(Window(law, latency));
        while (law.IsProbing)
        {
            law.Decide(Window(law, latency));
        }

        return law;
    }

    private static List<int> Limits(AdaptiveLaw law, int windows, Func<AdaptiveLaw, AdaptiveWindow> window) =>
        [.. Enumerable.Range(0, windows).Select(_ =>
        {
            law.Decide(window(law));
            return law.Limit;
        })];

    private static AdaptiveWindow Window(AdaptiveLaw law, double latency) => new()
    {
        Count = law.Samples, SuccessRate = 1, InFlight = law.Limit, Latency = latency, Error = 0.01, Moments = law.Samples, Turnover = latency,
    };

    private static AdaptiveSettings Settings(int initial) => new()
    {
        Min = 1, Max = 200, Initial = initial, SampleInterval = TimeSpan.FromSeconds(1), TimeProvider = new ManualTimeProvider(),
    };
}

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
    public void Decide_AfterALowering_SkipsTheCallsOfTheOldLimit()
    {
        AdaptiveLaw law = new(Settings(initial: 32));
        law.Decide(Window(law, 100));
        Assert.Equal((64, 0), (law.Limit, law.Skip));
        law.Decide(Window(law, 200));
        Assert.Equal((32, 64), (law.Limit, law.Skip));
    }

    [Theory]
    [InlineData(64)]
    [InlineData(16)]
    [InlineData(4)]
    [InlineData(1)]
    public void Decide_ServerWithSlots_HoldsTheLimitNearThem(int slots)
    {
        AdaptiveLaw law = Steady(slots);
        for (int i = 0; i < 200; i++)
        {
            law.Decide(Served(law, slots));
            Assert.InRange(law.Limit, Math.Floor(0.7 * slots), (1.4 * slots) + 1);
        }
    }

    [Theory]
    [InlineData(64, 3)]
    [InlineData(16, 3)]
    [InlineData(8, 5)]
    [InlineData(2, 100)]
    public void Decide_EveryCallTakesLonger_LowersNothingButForATest(int slots, double times)
    {
        AdaptiveLaw law = Steady(slots);
        Assert.All(Enumerable.Range(0, 200), _ =>
        {
            law.Decide(Served(law, slots, 100 * times));
            Assert.True(law.IsTesting || law.Limit >= Math.Floor(0.7 * slots), $"{law.Limit} of {slots}");
        });
        Assert.Equal(100 * times, law.Baseline, 5 * times);
    }

    [Theory]
    [InlineData(64, 8)]
    [InlineData(200, 4)]
    [InlineData(8, 1)]
    public void Decide_FewerSlots_FollowsWithinTwentyWindows(int before, int after)
    {
        AdaptiveLaw law = Steady(before);
        for (int i = 0; i < 20; i++)
        {
            law.Decide(Served(law, after));
        }

        Assert.InRange(law.Limit, 0.7 * after, (1.5 * after) + 1);
    }

    [Fact]
    public void Decide_CallsFailBeyondTheKnee_FindsTheKneeAndDoesNotGoBack()
    {
        // With so many calls that they fail, the latency is no baseline: beside it, that of half as many looks like room.
        AdaptiveLaw law = new(Settings(32));
        AdaptiveWindow Shared() => Window(law, 100 * Math.Max(1, law.Limit / 8.0) * (1 + (0.03 * Math.Max(0, law.Limit - 8))));
        law.Decide(Shared());
        for (int i = 0; i < 2; i++)
        {
            law.Decide(Shared() with { Failed = law.Samples / 2 });
        }

        Assert.Equal(16, law.Limit);

        // A window is not in use: the test of the new baseline stays due.
        law.Decide(Shared());
        law.Decide(Shared() with { InFlight = 0.5 * law.Limit });
        for (int i = 0; i < 40; i++)
        {
            law.Decide(Shared());
            Assert.InRange(law.Limit, 4, i < 5 ? 20 : 12);
        }
    }

    [Fact]
    public void Decide_AtTheLowestLimit_GrowsUntilCallsQueue()
    {
        // Whatever made the limit fall to one: when it is over, nothing is left of it.
        AdaptiveLaw law = Steady(16);
        for (int i = 0; i < 10; i++)
        {
            law.Decide(Window(law, 100) with { Failed = law.Samples });
        }

        Assert.InRange(law.Limit, 1, 2);
        for (int i = 0; i < 60; i++)
        {
            law.Decide(Served(law, 16, 300));
        }

        Assert.InRange(law.Limit, 12, 22);
    }

    [Fact]
    public void Decide_FailuresThatNoLimitHelpsAgainst_AreNoReasonForTheLowestOne()
    {
        AdaptiveLaw law = Steady(16);
        bool wasLowest = false;
        for (int i = 0; i < 200; i++)
        {
            AdaptiveWindow window = Served(law, 16);
            law.Decide(window with { Failed = window.Count / 3 });
            wasLowest |= law.Limit == 1;
        }

        Assert.True(wasLowest);
        Assert.InRange(law.Limit, 11, 22);

        // But if still more fail, it falls again.
        int before = law.Limit;
        for (int i = 0; i < 10; i++)
        {
            law.Decide(Window(law, 100) with { Failed = law.Samples });
        }

        Assert.InRange(law.Limit, 1, before / 2);
    }

    [Theory]
    [InlineData(0.05, 0.049, false)]
    [InlineData(0.05, 0.1, true)]
    [InlineData(0.05, 0.5, true)]
    [InlineData(0.5, 0.49, false)]
    [InlineData(0.5, 0.6, true)]
    [InlineData(0, 0.001, true)]
    [InlineData(1, 1, false)]
    public void Decide_Failures_CountOnlyIfTheyAreNoChance(double allowed, double rate, bool falls)
    {
        Random random = new(1);
        AdaptiveLaw law = new(Settings(initial: 16) with
        {
            Max = 16, MinSuccessRate = 1 - allowed, Increase = AdaptiveConcurrencyStrategy.AIMD, Decrease = AdaptiveConcurrencyStrategy.AIMD,
        });
        bool fell = false;
        for (int i = 0; i < 100; i++)
        {
            int count = law.Samples;
            law.Decide(Window(law, 100) with { Failed = Enumerable.Range(0, count).Count(_ => random.NextDouble() < rate) });
            fell |= law.Limit < 16;
        }

        Assert.Equal(falls, fell);
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
        Assert.Equal([32, 32], Limits(law, 2, static law => Window(law, 0) with { Failed = law.Samples }));
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
        law.Decide(Window(law, 100) with { Failed = law.Samples / 2 });
        Assert.Equal(expected, law.Limit);
    }

    [Theory]
    [InlineData(AdaptiveConcurrencyStrategy.AIMD, 20)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradual, 30)]
    [InlineData(AdaptiveConcurrencyStrategy.Gradient, 20)]
    public void Decide_PercentileAboveTheTarget_FallsAsStated(AdaptiveConcurrencyStrategy decrease, int expected)
    {
        AdaptiveLaw law = new(Settings(initial: 40) with
        {
            Increase = AdaptiveConcurrencyStrategy.AIMD, Decrease = decrease, TargetLatency = TimeSpan.FromTicks(100),
        });
        law.Decide(Window(law, 90) with { Missed = law.Samples / 2 });
        Assert.Equal(expected, law.Limit);
    }

    [Fact]
    public void Decide_DeeperAndDeeperQueue_FallsToMinAndNotBelow()
    {
        AdaptiveLaw law = new(Settings(initial: 40) with { Min = 3, Increase = AdaptiveConcurrencyStrategy.AIMD, Decrease = AdaptiveConcurrencyStrategy.AIMD });
        Assert.Equal([20, 10, 5, 3, 3], Limits(law, 5, static law => Window(law, 100) with { Failed = law.Samples }));
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
                law.Decide(RandomWindow(random, law));
                if (law.Limit < settings.Min || law.Limit > settings.Max || law.Skip < 0 || law.Samples < 1 || law.Samples > law.MaxSamples
                    || !double.IsFinite(law.Baseline) || law.Baseline < 0 || !(law.Clip > 0))
                {
                    return false;
                }
            }

            return true;
        }).QuickCheckThrowOnFailure();

    [Fact]
    public void Decide_AllCallsFail_FallsToMinWithoutRising() =>
        Prop.ForAll(Seeds(), static seed =>
        {
            Random random = new(seed);
            AdaptiveSettings settings = RandomSettings(random) with { MinSuccessRate = 0.5 + (0.5 * random.NextDouble()) };
            AdaptiveLaw law = new(settings);
            for (int i = random.Next(60); i > 0; i--)
            {
                law.Decide(RandomWindow(random, law) with { Failed = 0, Missed = 0 });
            }

            // A test that was under way is left.
            law.Decide(Window(law, 100) with { Count = 10_000, Failed = 10_000 });
            for (int i = 0; i < 100 && law.Limit > settings.Min; i++)
            {
                int before = law.Limit;
                law.Decide(Window(law, 100) with { Count = 10_000, Failed = 10_000 });
                if (law.Limit >= before)
                {
                    return false;
                }
            }

            return law.Limit == settings.Min;
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
            if (one.IsTesting || one.Baseline == 0)
            {
                return true;
            }

            one.Decide(Window(one, better * one.Baseline));
            other.Decide(Window(other, worse * other.Baseline));

            // A window may end the test that the limit was lowered for, or begin one: that stays at its limit for a window, and then goes below it.
            return one.IsTesting || other.IsTesting || other.Limit <= one.Limit;
        }).QuickCheckThrowOnFailure();

    private static Arbitrary<int> Seeds() => Gen.Choose(0, int.MaxValue - 1).ToArbitrary();

    private static (AdaptiveLaw Law, AdaptiveSettings Settings, Random Random) AfterSomeWindows(int seed)
    {
        Random random = new(seed);
        AdaptiveSettings settings = RandomSettings(random);
        AdaptiveLaw law = new(settings);
        for (int i = random.Next(60); i > 0; i--)
        {
            law.Decide(RandomWindow(random, law));
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
    private static AdaptiveWindow RandomWindow(Random random, AdaptiveLaw law)
    {
        double latency = random.Next(10) switch
        {
            0 => 0,
            1 => 1e15 * random.NextDouble(),
            2 => double.Epsilon,
            _ => Math.Min(law.Clip, 100 * Math.Exp(3 * random.NextDouble())),
        };
        int count = random.Next(0, 100);
        int failed = random.Next(3) == 0 ? random.Next(count + 1) : 0;
        return new AdaptiveWindow
        {
            Count = count,
            Failed = failed,
            Missed = random.Next(count - failed + 1),
            InFlight = random.Next(3) == 0 ? random.NextDouble() * law.Limit : law.Limit,
            Latency = latency,
            Error = latency == 0 ? 0 : random.NextDouble(),
            Moments = random.Next(0, 100),
            Turnover = Math.Max(1, latency * (0.5 + random.NextDouble())),
        };
    }

    private static AdaptiveLaw Steady(int slots)
    {
        AdaptiveLaw law = new(Settings(32));
        for (int i = 0; i < 60; i++)
        {
            law.Decide(Served(law, slots));
        }

        return law;
    }

    /// <summary>A window of a server that works on so many calls at once. The others wait there.</summary>
    private static AdaptiveWindow Served(AdaptiveLaw law, int slots, double service = 100) =>
        Window(law, service * Math.Max(1, (double)law.Limit / slots));

    private static List<int> Limits(AdaptiveLaw law, int windows, Func<AdaptiveLaw, AdaptiveWindow> window) =>
        [.. Enumerable.Range(0, windows).Select(_ =>
        {
            law.Decide(window(law));
            return law.Limit;
        })];

    private static AdaptiveWindow Window(AdaptiveLaw law, double latency) => new()
    {
        Count = law.Samples, InFlight = law.Limit, Latency = latency, Error = 0.01, Moments = law.Samples, Turnover = latency,
    };

    private static AdaptiveSettings Settings(int initial) => new()
    {
        Min = 1, Max = 200, Initial = initial, SampleInterval = TimeSpan.FromSeconds(1), TimeProvider = new ManualTimeProvider(),
    };
}

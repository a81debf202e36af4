using Weir.TestKit;

namespace Weir.Resilience.Tests.RateLimit;

public class TokenBucketTests
{
    private readonly ManualTimeProvider _clock = new();

    [Fact]
    public void Options_Defaults_AreThoseDocumented()
    {
        var options = new RateLimitOptions();
        Assert.Equal((100.0, 100.0, 1.0), (options.TokensPerSecond, options.BurstCapacity, options.TokensPerOperation));
    }

    [Fact]
    public void Reserve_FullBucket_GivesTheBurstAndThenTheRate()
    {
        TokenBucket bucket = Make(1_000, 5);
        double[] delays = [.. Enumerable.Range(0, 8).Select(_ => bucket.Reserve().Delay.TotalMilliseconds)];
        Assert.Equal([0, 0, 0, 0, 0, 1, 2, 3], delays);
        _clock.Advance(Span.Ms(3 + 5));
        Assert.Equal([0, 0, 0, 0, 0, 1], Enumerable.Range(0, 6).Select(_ => bucket.Reserve().Delay.TotalMilliseconds));
    }

    [Fact]
    public void Reserve_SeveralTokensAnOperation_TakesThemAll()
    {
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 100, BurstCapacity = 5, TokensPerOperation = 2.5, TimeProvider = _clock });
        Assert.Equal([0, 0, 25, 50], Enumerable.Range(0, 4).Select(_ => bucket.Reserve().Delay.TotalMilliseconds));
    }

    // Three million a second is 3.3 ticks of 100 ns a token: in whole ticks it would be a tenth too fast.
    [Fact]
    public void Reserve_RateAboveTheClocksResolution_IsExact()
    {
        TokenBucket bucket = Make(3_000_000, 1);
        RateReservation last = default;
        for (int i = 0; i <= 3_000_000; i++)
        {
            last = bucket.Reserve();
        }

        Assert.InRange(last.Delay.TotalSeconds, 0.999_99, 1.000_01);
    }

    [Fact(Timeout = 60_000)]
    public async Task Reserve_ManyThreads_EachStartTimeIsGivenOnce()
    {
        TokenBucket bucket = Make(1_000, 1);
        TimeSpan[][] delays = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(
            () => Enumerable.Range(0, 5_000).Select(_ => bucket.Reserve().Delay).ToArray())));
        Assert.All(delays, static mine => Assert.Equal(mine.Order(), mine));
        TimeSpan[] all = [.. delays.SelectMany(static d => d).Order()];
        Assert.All(all.Select(static (delay, i) => delay.TotalMilliseconds - i), static off => Assert.InRange(off, -0.001, 0.001));
    }

    [Fact(Timeout = 60_000)]
    public async Task TryEnter_ManyThreadsAtOnce_NeverLetsInMoreThanTheBurst()
    {
        TokenBucket bucket = Make(1_000_000, 20_000);
        int[] entered = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
        {
            int count = 0;
            for (int i = 0; i < 20_000; i++)
            {
                count += bucket.TryEnter() ? 1 : 0;
            }

            return count;
        })));

        // The clock stands still, so nothing flows in. One less, by the rounding of twenty thousand costs.
        Assert.InRange(entered.Sum(), 19_999, 20_000);
    }

    // Rivulet R15: a polling bucket gave 250 a second instead of 1,000 at a timer tick of 4 ms. Here one caller makes one call
    // after the other, each waiting for a timer that wakes it late.
    [Theory(Timeout = 60_000)]
    [InlineData(1_000, 4)]
    [InlineData(1_000, 15.6)]
    [InlineData(200, 4)]
    [InlineData(5_000, 4)]
    public async Task WaitAsync_OneAfterTheOtherOnACoarseTick_KeepsTheRate(int rate, double tick)
    {
        var ticked = new TickedTimeProvider(_clock, Span.Ms(tick));
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = 1, TimeProvider = ticked });
        Task calls = Task.Run(async () =>
        {
            for (int i = 0; i < 1_000; i++)
            {
                await bucket.WaitAsync();
            }
        });
        while (!calls.IsCompleted)
        {
            await Until.TrueAsync(() => calls.IsCompleted || _clock.ArmedTimers == 1);
            _clock.Advance(Span.Ms(tick));
        }

        await calls;
        double seconds = _clock.GetTimestamp() / (double)TimeSpan.TicksPerSecond;
        Assert.InRange(seconds, 0.99 * 1_000 / rate, (1.01 * 1_000 / rate) + (2 * tick / 1_000));
    }

    // Rivulet R16: one of 300 waiting callers was overtaken by 297 others.
    [Fact(Timeout = 60_000)]
    public async Task WaitAsync_ManyAtOnce_AreServedInTheirOrder()
    {
        TokenBucket bucket = Make(1_000, 1);
        Task[] waits = [.. Enumerable.Range(0, 300).Select(_ => bucket.WaitAsync().AsTask())];
        for (int done = 1; done < 300; done++)
        {
            await waits[done - 1];
            Assert.All(waits[done..], static wait => Assert.False(wait.IsCompleted));
            _clock.Advance(Span.Ms(1));
        }

        await waits[299];
        Assert.Equal(0, _clock.LiveTimers);
    }

    [Fact]
    public void WaitAsync_AlreadyCancelled_TakesNoToken()
    {
        TokenBucket bucket = Make(1, 1);
        Assert.True(bucket.WaitAsync(new CancellationToken(canceled: true)).IsCanceled);
        Assert.Equal(TimeSpan.Zero, bucket.Reserve().Delay);
    }

    [Fact(Timeout = 10_000)]
    public async Task WaitAsync_Cancelled_GivesItsTokensBack()
    {
        TokenBucket bucket = Make(1, 1);
        Assert.True(bucket.WaitAsync().IsCompletedSuccessfully);
        using var cancel = new CancellationTokenSource();
        ValueTask wait = bucket.WaitAsync(cancel.Token);
        await cancel.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => wait.AsTask());
        Assert.Equal(cancel.Token, error.CancellationToken);
        Assert.Equal(TimeSpan.FromSeconds(1), bucket.Reserve().Delay);
    }

    // A run that is cancelled must not leave a shared bucket paying for calls that were never made.
    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(99)]
    public void Cancel_AllInAnyOrder_FreesAllTheTime(int stride)
    {
        TokenBucket bucket = Make(1, 1);
        bucket.Reserve();
        RateReservation[] waiting = [.. Enumerable.Range(0, 100).Select(_ => bucket.Reserve())];
        for (int i = 0; i < waiting.Length; i++)
        {
            bucket.Cancel(waiting[i * stride % waiting.Length]);
        }

        Assert.Equal(TimeSpan.FromSeconds(1), bucket.Reserve().Delay);
    }

    [Fact]
    public void Cancel_LaterOnesWait_KeepsTheirTimes()
    {
        TokenBucket bucket = Make(1, 1);
        bucket.Reserve();
        RateReservation second = bucket.Reserve();
        RateReservation third = bucket.Reserve();
        bucket.Cancel(second);
        Assert.Equal(TimeSpan.FromSeconds(3), bucket.Reserve().Delay);
        Assert.Equal(TimeSpan.FromSeconds(2), third.Delay);
        bucket.Cancel(default);
    }

    [Fact(Timeout = 60_000)]
    public async Task Cancel_ManyThreads_LosesNoTime()
    {
        TokenBucket bucket = Make(1_000, 1);
        bucket.Reserve();
        await Task.WhenAll(Enumerable.Range(0, 4).Select(seed => Task.Run(() =>
        {
            var random = new SeededRandom(seed);
            List<RateReservation> mine = [];
            for (int i = 0; i < 10_000; i++)
            {
                if (mine.Count > 0 && random.NextDouble() < 0.5)
                {
                    int pick = (int)(random.NextDouble() * mine.Count);
                    bucket.Cancel(mine[pick]);
                    mine.RemoveAt(pick);
                }
                else
                {
                    mine.Add(bucket.Reserve());
                }
            }

            mine.ForEach(bucket.Cancel);
        })));
        Assert.Equal(1, bucket.Reserve().Delay.TotalMilliseconds, 3);
    }

    [Fact]
    public void Started_AfterALongPause_GivesNoMoreThanTheLateness()
    {
        TokenBucket bucket = Make(1_000, 1);
        bucket.Reserve();
        RateReservation waited = bucket.Reserve();
        _clock.Advance(TimeSpan.FromMinutes(1));
        bucket.Started(waited);

        // A minute late: a machine that slept. At most 100 ms of it are made up for.
        int atOnce = 0;
        while (bucket.Reserve().Delay == TimeSpan.Zero)
        {
            atOnce++;
        }

        Assert.InRange(atOnce, 100, 102);
    }

    [Fact]
    public void Reserve_TimeFarAway_DoesNotOverflow()
    {
        TokenBucket bucket = Make(1e-12, 1);
        bucket.Reserve();
        Assert.True(bucket.Reserve().Delay > TimeSpan.FromDays(365_000));
        ValueTask wait = bucket.WaitAsync(TestContext.Current.CancellationToken);
        Assert.False(wait.IsCompleted);
    }

    [Fact]
    public void Constructor_OptionOutOfRange_IsNamed()
    {
        static void Wrong(string name, RateLimitOptions options)
        {
            ArgumentOutOfRangeException error = Assert.Throws<ArgumentOutOfRangeException>(name, () => new TokenBucket(options));
            Assert.StartsWith(name + " must be", error.Message, StringComparison.Ordinal);
        }

        foreach (double bad in new[] { 0, -1, double.NaN, double.PositiveInfinity })
        {
            Wrong(nameof(RateLimitOptions.TokensPerSecond), new RateLimitOptions { TokensPerSecond = bad });
            Wrong(nameof(RateLimitOptions.BurstCapacity), new RateLimitOptions { BurstCapacity = bad });
            Wrong(nameof(RateLimitOptions.TokensPerOperation), new RateLimitOptions { TokensPerOperation = bad });
        }

        Wrong(nameof(RateLimitOptions.BurstCapacity), new RateLimitOptions { BurstCapacity = 2, TokensPerOperation = 3 });
        Assert.Throws<ArgumentNullException>("TimeProvider", () => new TokenBucket(new RateLimitOptions { TimeProvider = null! }));
    }

    private TokenBucket Make(double rate, double burst) => new(new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = burst, TimeProvider = _clock });
}

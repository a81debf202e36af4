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

    [Theory]
    [InlineData(10, 1, 10)]
    [InlineData(2_000, 1, 2_000)]
    [InlineData(0.5, 1, 1)]
    [InlineData(0.5, 0.25, 0.5)]
    [InlineData(2, 5, 5)]
    public void BurstCapacity_NotSet_IsASecondsWorthAndAtLeastACall(double rate, double cost, double burst)
    {
        RateLimitOptions options = new() { TokensPerSecond = rate, TokensPerOperation = cost };
        Assert.Equal(burst, options.BurstCapacity);
        Assert.Equal(burst, (new RateLimitOptions() with { TokensPerSecond = rate, TokensPerOperation = cost }).BurstCapacity);
        Assert.Equal(7, (options with { BurstCapacity = 7 } with { TokensPerSecond = 3 }).BurstCapacity);
    }

    [Theory]
    [InlineData(10)]
    [InlineData(20)]
    [InlineData(1)]
    public void TryEnter_OnlyTheRateIsSet_AFirstSecondHasTheRateTwiceAndEachLaterOneOnce(int rate)
    {
        TokenBucket bucket = new(new RateLimitOptions { TokensPerSecond = rate, TimeProvider = _clock });
        int[] seconds = new int[4];
        for (int ms = 0; ms < 1_000 * seconds.Length; ms++)
        {
            while (bucket.TryEnter())
            {
                seconds[ms / 1_000]++;
            }

            _clock.Advance(Span.Ms(1));
        }

        // The last token of a second flows in when the next one begins.
        Assert.Equal([(2 * rate) - 1, rate, rate, rate], seconds);
    }

    [Fact(Timeout = 60_000)]
    public async Task WaitAsync_FullBucket_GivesTheBurstAndThenTheRate()
    {
        TokenBucket bucket = Make(1_000, 5);
        Task[] waits = new Task[8];
        for (int i = 0; i < waits.Length; i++)
        {
            Assert.Equal(Math.Max(0, i - 4), Ask(bucket, out waits[i]));
        }

        for (int done = 5; done < waits.Length; done++)
        {
            // The clock moves when the next one waits for it; else he would be late.
            await Until.TrueAsync(() => _clock.ArmedTimers == 1);
            _clock.Advance(Span.Ms(0.9));
            Assert.False(waits[done].IsCompleted);
            _clock.Advance(Span.Ms(0.1));
            await waits[done];
        }

        _clock.Advance(Span.Ms(5));
        Assert.Equal(Enumerable.Repeat(0.0, 5).Append(1), Enumerable.Range(0, 6).Select(_ => Ask(bucket, out Task _)));
    }

    [Fact]
    public void RetryAfter_SeveralTokensAnOperation_IsForThemAll()
    {
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 100, BurstCapacity = 5, TokensPerOperation = 2.5, TimeProvider = _clock });
        Assert.Equal(new double[] { 0, 0, 25, 50 }, Enumerable.Range(0, 4).Select(_ => Ask(bucket, out Task _)));
    }

    // Three million a second is 3.3 ticks of 100 ns a token: in whole ticks it would be a tenth too fast.
    [Fact]
    public void TryEnter_RateAboveTheClocksResolution_IsExact()
    {
        TokenBucket bucket = Make(3_000_000, 2);
        int entered = 0;
        for (int tick = 0; tick < 1_000_000; tick++)
        {
            while (bucket.TryEnter())
            {
                entered++;
            }

            _clock.Advance(TimeSpan.FromTicks(1));
        }

        Assert.InRange(entered, 299_999, 300_002);
    }

    [Fact(Timeout = 60_000)]
    public async Task TryEnter_SomebodyWaits_IsRefusedUntilNobodyDoes()
    {
        TokenBucket bucket = Make(1_000, 3);
        Assert.Equal(new double[] { 0, 0, 0, 1, 2 }, Enumerable.Range(0, 5).Select(_ => Ask(bucket, out Task _)));
        using var cancel = new CancellationTokenSource();
        Task[] waits = [bucket.WaitAsync(cancel.Token).AsTask(), bucket.WaitAsync(cancel.Token).AsTask()];
        Assert.False(bucket.TryEnter());

        // The clock jumps over the times of all of them. Until they have been served, nobody else is.
        _clock.Advance(Span.Ms(1));
        await Until.TrueAsync(() => bucket.Waiting == 3);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Task.WhenAll(waits));
        Assert.False(bucket.TryEnter());
        await Until.TrueAsync(() => _clock.ArmedTimers == 1);
        _clock.Advance(Span.Ms(1));
        await Until.TrueAsync(() => bucket.Waiting == 0);
        Assert.False(bucket.TryEnter());
        _clock.Advance(Span.Ms(1));
        Assert.True(bucket.TryEnter());
    }

    // As many as make the bucket skip readings of the clock: too many for a scenario of the explorer.
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

    // Rivulet R15: a polling bucket gave 250 a second instead of 1,000 at a timer tick of 4 ms. One caller makes one call after the other, each waiting for a
    // timer that wakes it late by up to a tick: what flows in meanwhile fits into a burst of rate * tick + cost.
    [Theory(Timeout = 60_000)]
    [InlineData(1_000, 4, 1)]
    [InlineData(1_000, 15.6, 1)]
    [InlineData(200, 4, 1)]
    [InlineData(5_000, 4, 1)]
    [InlineData(1_000, 4, 2.5)]
    public async Task WaitAsync_OnACoarseTickWithTheBurstForIt_KeepsTheRate(int rate, double tick, double cost)
    {
        double burst = (rate * tick / 1_000) + cost;
        (double seconds, double excess) = await OneAfterTheOtherAsync(rate, burst, cost, tick);
        Assert.InRange(seconds, ((0.99 * 1_000 * cost) - burst) / rate, (1.01 * 1_000 * cost / rate) + (2 * tick / 1_000));
        Assert.True(excess < 1e-3, $"{excess} tokens too many.");
    }

    // What flowed in while a caller was woken late is not made up for: calls would start together that the rate keeps apart.
    [Theory(Timeout = 60_000)]
    [InlineData(1_000, 4)]
    [InlineData(5_000, 15.6)]
    public async Task WaitAsync_OnACoarseTickWithoutABurst_StartsOneATick(int rate, double tick)
    {
        (double seconds, double excess) = await OneAfterTheOtherAsync(rate, 1, 1, tick);
        Assert.InRange(seconds, 999 * tick / 1_000, 1_001 * tick / 1_000);
        Assert.True(excess < 1e-3, $"{excess} tokens too many.");
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
            await Until.TrueAsync(() => _clock.ArmedTimers == 1);
            _clock.Advance(Span.Ms(1));
        }

        await waits[299];

        // A delay that ends while it is being made disposes its timer afterwards, on its own thread.
        await Until.TrueAsync(() => _clock.ArmedTimers == 0);
    }

    [Fact]
    public void WaitAsync_AlreadyCancelled_TakesNoToken()
    {
        TokenBucket bucket = Make(1, 1);
        Assert.True(bucket.WaitAsync(new CancellationToken(canceled: true)).IsCanceled);
        Assert.True(((IRateLimit)bucket).EnterAsync(new CancellationToken(canceled: true)).IsCanceled);
        Assert.Equal(TimeSpan.Zero, bucket.RetryAfter);
    }

    [Fact(Timeout = 90_000)]
    public async Task WaitAsync_Cancelled_TakesNothing()
    {
        TokenBucket bucket = Make(1, 1);
        Assert.True(bucket.WaitAsync().IsCompletedSuccessfully);
        using var cancel = new CancellationTokenSource();
        ValueTask wait = bucket.WaitAsync(cancel.Token);
        Assert.Equal(TimeSpan.FromSeconds(2), bucket.RetryAfter);
        await cancel.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => wait.AsTask());
        Assert.Equal(cancel.Token, error.CancellationToken);
        Assert.Equal(TimeSpan.FromSeconds(1), bucket.RetryAfter);
        Assert.Equal(0, _clock.LiveTimers);
    }

    // A run that is cancelled must not leave a shared bucket paying for calls that were never made.
    [Theory(Timeout = 60_000)]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(99)]
    public async Task WaitAsync_AllCancelledInAnyOrder_FreesAllTheTime(int stride)
    {
        TokenBucket bucket = Make(1, 1);
        Assert.True(bucket.TryEnter());
        CancellationTokenSource[] cancels = [.. Enumerable.Range(0, 100).Select(_ => new CancellationTokenSource())];
        Task[] waits = [.. cancels.Select(c => bucket.WaitAsync(c.Token).AsTask())];
        Assert.Equal(TimeSpan.FromSeconds(101), bucket.RetryAfter);
        for (int i = 0; i < cancels.Length; i++)
        {
            await cancels[i * stride % cancels.Length].CancelAsync();
        }

        await Task.WhenAll(waits).EndsAsync();
        Assert.All(waits, static w => Assert.True(w.IsCanceled));
        Assert.Equal(TimeSpan.FromSeconds(1), bucket.RetryAfter);
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.True(bucket.TryEnter());
        Array.ForEach(cancels, static c => c.Dispose());
    }

    [Theory(Timeout = 60_000)]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(2)]
    public async Task WaitAsync_OneOfThreeCancelled_TheOthersMoveUp(int which)
    {
        TokenBucket bucket = Make(1, 1);
        Assert.True(bucket.TryEnter());
        using var cancel = new CancellationTokenSource();
        Task[] waits = [.. Enumerable.Range(0, 3).Select(i => bucket.WaitAsync(i == which ? cancel.Token : default).AsTask())];
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waits[which]);
        for (int left = 2; left > 0; left--)
        {
            await Until.TrueAsync(() => bucket.Waiting == left && _clock.ArmedTimers == 1);
            _clock.Advance(TimeSpan.FromSeconds(1));
        }

        await Task.WhenAll(waits.Where((_, i) => i != which));
        Assert.Equal(TimeSpan.FromSeconds(1), bucket.RetryAfter);
        await Until.TrueAsync(() => _clock.ArmedTimers == 0);
    }

    [Fact]
    public void WaitAsync_TimeFarAway_DoesNotOverflow()
    {
        TokenBucket bucket = Make(1e-12, 1);
        Assert.True(bucket.TryEnter());
        Assert.True(bucket.RetryAfter > TimeSpan.FromDays(365_000));
        ValueTask wait = bucket.WaitAsync(TestContext.Current.CancellationToken);
        Assert.False(wait.IsCompleted);
    }

    // The rate decides, not its unit: the ticks of a whole token, or their number in a second, are more than a double can hold.
    [Theory]
    [InlineData(1e-305)]
    [InlineData(1e-12)]
    [InlineData(1e300)]
    [InlineData(double.MaxValue)]
    public void TryEnter_OperationOfOneSecond_IsOneASecondWhateverATokenIs(double tokens)
    {
        TokenBucket bucket = new(new RateLimitOptions
        {
            TokensPerSecond = tokens, BurstCapacity = tokens, TokensPerOperation = tokens, TimeProvider = _clock,
        });
        Assert.True(bucket.TryEnter());
        Assert.False(bucket.TryEnter());
        Assert.Equal(TimeSpan.FromSeconds(1), bucket.RetryAfter);
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.True(bucket.TryEnter());
        Assert.False(bucket.TryEnter());
    }

    // A clock that fails while a call waits must not leave the others waiting for ever.
    [Fact(Timeout = 60_000)]
    public async Task WaitAsync_TheClockMakesNoTimer_FailsAndLetsTheOthersGoOn()
    {
        var clock = new FaultyTimeProvider(_clock);
        clock.FailToMakeTimers();
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = clock });
        Assert.True(bucket.TryEnter());
        await Assert.ThrowsAsync<IOException>(() => bucket.WaitAsync().AsTask());
        clock.Work();
        Task next = bucket.WaitAsync().AsTask();
        _clock.Advance(TimeSpan.FromSeconds(1));
        await next;
        Assert.Equal(0, bucket.Waiting);
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
        foreach (double slow in new[] { 9.9e-13, 1e-300, double.Epsilon })
        {
            Wrong(nameof(RateLimitOptions.TokensPerSecond), new RateLimitOptions { TokensPerSecond = slow });
        }

        Wrong(nameof(RateLimitOptions.TokensPerSecond), new RateLimitOptions { TokensPerOperation = 1e300, BurstCapacity = 1e300 });
        Assert.Throws<ArgumentNullException>("TimeProvider", () => new TokenBucket(new RateLimitOptions { TimeProvider = null! }));
    }

    [Theory]
    [InlineData(1e12)]
    [InlineData(double.MaxValue)]
    public void RetryAfter_BurstThatLastsLongerThanAnyTime_IsZero(double burst)
    {
        TokenBucket bucket = Make(1, burst);
        _clock.Advance(Span.Ms(1));
        Assert.Equal(TimeSpan.Zero, bucket.RetryAfter);
        Assert.True(bucket.TryEnter());
        Assert.Equal(TimeSpan.Zero, bucket.RetryAfter);
    }

    private async Task<(double Seconds, double Excess)> OneAfterTheOtherAsync(int rate, double burst, double cost, double tick)
    {
        using var clock = new LastReadTimeProvider(new TickedTimeProvider(_clock, Span.Ms(tick)));
        var bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = burst, TokensPerOperation = cost, TimeProvider = clock });
        List<long> starts = [];
        Task calls = Task.Run(async () =>
        {
            for (int i = 0; i < 1_000; i++)
            {
                await ((IRateLimit)bucket).EnterAsync(CancellationToken.None);
                starts.Add(clock.LastRead);
            }
        });
        while (!calls.IsCompleted)
        {
            await Until.TrueAsync(() => calls.IsCompleted || _clock.ArmedTimers == 1);
            if (_clock.NextDue is { } due)
            {
                _clock.Advance(due - TimeSpan.FromTicks(_clock.GetTimestamp()));
            }
        }

        await calls;
        return (_clock.GetTimestamp() / (double)TimeSpan.TicksPerSecond, RateBound.Excess(starts, clock.TimestampFrequency, rate, burst, cost));
    }

    /// <summary>Asks for a call, and says what its wait is before.</summary>
    private static double Ask(TokenBucket bucket, out Task wait)
    {
        double delay = bucket.RetryAfter.TotalMilliseconds;
        wait = bucket.WaitAsync().AsTask();
        Assert.Equal(delay == 0, wait.IsCompleted);
        return delay;
    }

    private TokenBucket Make(double rate, double burst) => new(new RateLimitOptions { TokensPerSecond = rate, BurstCapacity = burst, TimeProvider = _clock });
}

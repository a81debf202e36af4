namespace Weir.Resilience.Tests.RateLimit;

/// <summary>A clock of the user's that fails for a moment: the item whose question it was fails, and the bucket serves the others.</summary>
public sealed class TokenBucketClockTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();
    private readonly FaultyTimeProvider _clock;
    private readonly TokenBucket _bucket;

    public TokenBucketClockTests()
    {
        _clock = new FaultyTimeProvider(_time);
        _bucket = new TokenBucket(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = _clock });
    }

    [Fact]
    public void Item_AsksWhileTheClockFails_DoesNotKeepTheBucket()
    {
        _clock.FailAfter(0);
        Assert.Throws<IOException>(() => _bucket.TryEnter(out _));
        _clock.Work();
        Assert.True(_bucket.TryEnter(out ItemRateWaiter? turn));
        Assert.Null(turn);
        Assert.Equal((0, 0), (_bucket.Waiting, _time.LiveTimers));
    }

    [Fact]
    public void LastItem_LeavesWhileTheClockFails_OpensTheBucket()
    {
        Assert.True(_bucket.TryEnter());
        Assert.False(_bucket.TryEnter(out ItemRateWaiter? turn));
        _clock.FailAfter(0);
        turn!.Drop();
        _clock.Work();
        Assert.Equal((0, 0), (_bucket.Waiting, _time.LiveTimers));
        _time.Advance(Second);
        Assert.True(_bucket.TryEnter());
    }

    [Fact]
    public void FirstItem_LeavesWhileTheClockFails_TheNextIsCalled()
    {
        Assert.True(_bucket.TryEnter());
        Assert.False(_bucket.TryEnter(out ItemRateWaiter? first));
        Assert.False(_bucket.TryEnter(out ItemRateWaiter? second));
        _clock.FailAfter(0);
        first!.Drop();
        _clock.Work();
        _time.Advance(Second);
        Assert.True(second!.Served.IsCompleted);
        Assert.True(second.TryEnter());
        Assert.Equal((0, 0), (_bucket.Waiting, _time.LiveTimers));
    }
}

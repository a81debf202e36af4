namespace Weir.Resilience.Tests.RateLimit;

/// <summary>Items that wait elsewhere: in order, never too many, never for those who do not come, and without a trace when they leave.</summary>
public sealed class ItemRateWaiterTests
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    private readonly ManualTimeProvider _time = new();

    [Fact]
    public void Items_AreCalledOneByOne_InOrder()
    {
        TokenBucket bucket = Bucket(burst: 1);
        Assert.True(bucket.TryEnter(out ItemRateWaiter? none));
        Assert.Null(none);
        ItemRateWaiter[] turns = [.. Enumerable.Range(0, 5).Select(_ => Wait(bucket))];
        Assert.Equal(5, bucket.Waiting);
        Assert.Equal(6 * Second, bucket.RetryAfter);
        for (int i = 0; i < 5; i++)
        {
            _time.Advance(Second - TimeSpan.FromTicks(1));
            Assert.Equal(i, turns.Count(static t => t.Served.IsCompleted));
            Assert.False(turns[i].TryEnter());
            _time.Advance(TimeSpan.FromTicks(1));
            Assert.Equal(i + 1, turns.Count(static t => t.Served.IsCompleted));
            Assert.True(turns[i].TryEnter());
        }

        Assert.Equal((0, 0), (bucket.Waiting, _time.LiveTimers));
        Assert.False(bucket.TryEnter());
        _time.Advance(Second);
        Assert.True(bucket.IsFull);
        Assert.True(bucket.TryEnter());
    }

    [Fact]
    public void Item_ThatIsCalledAndDoesNotCome_HoldsNobodyUpAndStaysBeforeThoseBehindIt()
    {
        TokenBucket bucket = Bucket(burst: 1);
        Assert.True(bucket.TryEnter(out _));
        ItemRateWaiter paused = Wait(bucket);
        ItemRateWaiter second = Wait(bucket);
        ItemRateWaiter third = Wait(bucket);
        _time.Advance(Second);
        Assert.Equal((true, false), (paused.Served.IsCompleted, second.Served.IsCompleted));
        _time.Advance(Second);
        Assert.Equal((true, false), (second.Served.IsCompleted, third.Served.IsCompleted));

        // The second one starts with the tokens that are there, and the first one, which comes late, waits before the third.
        Assert.True(second.TryEnter());
        Assert.False(paused.TryEnter());
        Assert.False(paused.Served.IsCompleted);
        _time.Advance(Second);
        Assert.Equal((true, false), (paused.Served.IsCompleted, third.Served.IsCompleted));
        Assert.True(paused.TryEnter());
        _time.Advance(Second);
        Assert.True(third.TryEnter());
        Assert.Equal((0, 0), (bucket.Waiting, _time.LiveTimers));
    }

    [Fact]
    public void Items_ThatNeverCome_LeaveTheWholeRateToOthers()
    {
        TokenBucket bucket = Bucket(burst: 1);
        Assert.True(bucket.TryEnter(out _));
        ItemRateWaiter[] paused = [.. Enumerable.Range(0, 10).Select(_ => Wait(bucket))];
        _time.Advance(10 * Second);
        Assert.All(paused, static t => Assert.True(t.Served.IsCompleted));

        // Ten items could start, and none does: another one gets its tokens each second.
        for (int i = 0; i < 20; i++)
        {
            _time.Advance(Second);
            Assert.True(bucket.TryEnter(out _));
        }

        // All of them come at once, and start one by one all the same.
        Assert.Equal(0, paused.Count(static t => t.TryEnter()));
        for (int i = 0; i < 10; i++)
        {
            _time.Advance(Second);
            Assert.Equal(i, Array.FindIndex(paused, static t => t.Served.IsCompleted && t.TryEnter()));
        }

        Assert.Equal((0, 0), (bucket.Waiting, _time.LiveTimers));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Item_ThatLeaves_LeavesItsTokensToTheNext(bool called)
    {
        TokenBucket bucket = Bucket(burst: 1);
        Assert.True(bucket.TryEnter(out _));
        ItemRateWaiter leaves = Wait(bucket);
        ItemRateWaiter next = Wait(bucket);
        _time.Advance(called ? Second : Second / 2);
        Assert.Equal(called, leaves.Served.IsCompleted);
        leaves.Drop();
        if (!called)
        {
            Assert.False(next.Served.IsCompleted);
            _time.Advance(Second / 2);
        }

        Assert.True(next.Served.IsCompleted);
        Assert.True(next.TryEnter());
        Assert.Equal((0, 0), (bucket.Waiting, _time.LiveTimers));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public void Items_AnyOrderOfEvents_NeverTooManyAndNothingLeft(int seed)
    {
        SeededRandom random = new(seed);
        int Next(int below) => (int)(random.NextDouble() * below);
        for (int round = 0; round < 300; round++)
        {
            double burst = 1 + Next(5);
            TokenBucket bucket = Bucket(burst);
            List<ItemRateWaiter> waiting = [];
            List<long> starts = [];
            for (int step = 0; step < 80; step++)
            {
                switch (Next(5))
                {
                    case 0:
                        _time.Advance(TimeSpan.FromMilliseconds(Next(4_000)));
                        break;
                    case 1 or 2:
                        if (bucket.TryEnter(out ItemRateWaiter? turn))
                        {
                            starts.Add(_time.GetTimestamp());
                        }
                        else
                        {
                            waiting.Add(turn!);
                        }

                        break;
                    case 3 when waiting.Count > 0:
                        int leaves = Next(waiting.Count);
                        waiting[leaves].Drop();
                        waiting.RemoveAt(leaves);
                        break;
                    default:
                        int comes = waiting.FindIndex(static t => t.Served.IsCompleted);
                        if (comes >= 0 && waiting[comes].TryEnter())
                        {
                            starts.Add(_time.GetTimestamp());
                            waiting.RemoveAt(comes);
                        }

                        break;
                }

                Assert.Equal(waiting.Count, bucket.Waiting);
                Assert.True(_time.ArmedTimers <= 1);
            }

            // The rest comes as soon as it is called: at the full rate, and in order.
            while (waiting.Count > 0)
            {
                while (waiting.FindIndex(static t => t.Served.IsCompleted) is >= 0 and int comes && waiting[comes].TryEnter())
                {
                    Assert.Equal(0, comes);
                    starts.Add(_time.GetTimestamp());
                    waiting.RemoveAt(comes);
                }

                if (waiting.Count > 0 && !waiting.Exists(static t => t.Served.IsCompleted))
                {
                    Assert.True(_time.NextDue - TimeSpan.FromTicks(_time.GetTimestamp()) <= Second, "The next one is called within the time of one call.");
                    _time.Advance(_time.NextDue!.Value - TimeSpan.FromTicks(_time.GetTimestamp()));
                }
            }

            Assert.True(RateBound.Excess(starts, _time.TimestampFrequency, 1, burst) < 1e-3);
            Assert.Equal((0, 0), (bucket.Waiting, _time.LiveTimers));
            _time.Advance(burst * Second);
            Assert.True(bucket.IsFull);
        }
    }

    private static ItemRateWaiter Wait(TokenBucket bucket)
    {
        Assert.False(bucket.TryEnter(out ItemRateWaiter? turn));
        return turn!;
    }

    private TokenBucket Bucket(double burst) => new(new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = burst, TimeProvider = _time });
}

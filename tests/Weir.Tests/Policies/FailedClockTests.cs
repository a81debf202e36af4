using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies;

/// <summary>The clock of a rate limit fails when an item asks for its tokens: the item fails, and its place at a shared limit goes back.</summary>
public sealed class FailedClockTests
{
    private const int Key = 3;

    private readonly ManualTimeProvider _time = new();
    private readonly FaultyTimeProvider _clock;
    private readonly SharedConcurrencyLimit _limit = new(1);
    private readonly RateLimits<int> _rates;

    public FailedClockTests()
    {
        _clock = new FaultyTimeProvider(_time);
        _rates = RateLimits.ByKey<int, int>(
            static item => item, new RateLimitOptions { TokensPerSecond = 1, BurstCapacity = 1, TimeProvider = _clock });
    }

    [Theory(Timeout = Selectors.Timeout)]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Item_AsksForItsTokens_GivesItsPlaceBack(int answers)
    {
        Assert.True(_rates.Get(Key).TryEnter());
        _clock.FailAfter(answers);
        await Assert.ThrowsAsync<IOException>(() => RunAsync().WithinAsync());
        await AssertNothingIsLeftAsync();
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Item_WasServedAPlace_GivesItBack()
    {
        TokenBucket bucket = _rates.Get(Key);
        Assert.True(_limit.TryEnter());
        Task<List<int>> run = RunAsync();
        await Guard.UntilAsync(() => _limit.Waiting == 1, "the item at the shared limit");
        _clock.FailAfter(0);
        _limit.Leave();
        await Assert.ThrowsAsync<IOException>(() => run.WithinAsync());
        _clock.Work();
        Assert.True(bucket.TryEnter());
        await AssertNothingIsLeftAsync();
    }

    private Task<List<int>> RunAsync() => new[] { Key }.SelectParallelAsync(
        static (item, _) => new ValueTask<int>(item),
        new ParallelRunOptions { ConcurrencyLimit = _limit, RateLimit = _rates, TimeProvider = _time });

    private async Task AssertNothingIsLeftAsync()
    {
        _clock.Work();
        Assert.Equal((0, 0, 0), (_limit.InUse, _limit.Waiting, _rates.Get(Key).Waiting));
        Task<List<int>> next = RunAsync();
        await Guard.UntilAsync(() => _rates.Get(Key).Waiting == 1, "the next item");
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal([Key], await next.WithinAsync());
        Assert.Equal(0, _limit.InUse);
    }
}

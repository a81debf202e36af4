namespace Weir.Resilience.Tests.ConcurrencyLimit;

public class SharedConcurrencyLimitTests
{
    private const int Timeout = 90_000;

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    public void Constructor_LimitBelowOne_Throws(int limit)
    {
        ArgumentOutOfRangeException error = Assert.Throws<ArgumentOutOfRangeException>(() => new SharedConcurrencyLimit(limit));
        Assert.Equal("limit", error.ParamName);
        Assert.Equal("Limit", Assert.Throws<ArgumentOutOfRangeException>(() => new SharedConcurrencyLimit(1) { Limit = limit }).ParamName);
        Assert.Equal("maxWaiting", Assert.Throws<ArgumentOutOfRangeException>(() => new SharedConcurrencyLimit(1, -1)).ParamName);
    }

    [Fact]
    public void TryEnter_UpToTheLimit_ThenAfterALeave()
    {
        SharedConcurrencyLimit limit = new(2);
        Assert.True(limit.TryEnter());
        Assert.True(limit.TryEnter());
        Assert.False(limit.TryEnter());
        Assert.Equal((2, 0, 2), (limit.InUse, limit.Waiting, limit.Limit));
        limit.Leave();
        Assert.True(limit.TryEnter());
        limit.Leave();
        limit.Leave();
        Assert.Equal(0, limit.InUse);
        Assert.Throws<InvalidOperationException>(limit.Leave);
        Assert.Equal(0, limit.InUse);
    }

    [Fact(Timeout = Timeout)]
    public async Task EnterAsync_Full_FirstComeFirstServed()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Task[] waits = [.. Enumerable.Range(0, 5).Select(_ => limit.EnterAsync().AsTask())];
        Assert.Equal(5, limit.Waiting);
        for (int i = 0; i < waits.Length; i++)
        {
            Assert.All(waits[i..], static wait => Assert.False(wait.IsCompleted));
            limit.Leave();
            await waits[i].WithinAsync("the next wait");
            Assert.False(limit.TryEnter());
            Assert.Equal((1, 4 - i), (limit.InUse, limit.Waiting));
        }
    }

    [Fact(Timeout = Timeout)]
    public async Task EnterAsync_Cancelled_LeavesTheQueueAndNothingElse()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        using CancellationTokenSource cancelling = new();
        Task first = limit.EnterAsync(cancelling.Token).AsTask();
        Task second = limit.EnterAsync().AsTask();
        await cancelling.CancelAsync();
        OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => first.WithinAsync());
        Assert.Equal(cancelling.Token, error.CancellationToken);
        Assert.Equal(1, limit.Waiting);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => limit.EnterAsync(cancelling.Token).AsTask());
        limit.Leave();
        await second.WithinAsync();
        limit.Leave();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task EnterAsync_QueueFull_IsRejected()
    {
        SharedConcurrencyLimit limit = new(1, maxWaiting: 1);
        Assert.True(limit.TryEnter());
        Task wait = limit.EnterAsync().AsTask();
        ConcurrencyLimitRejectedException error = await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => limit.EnterAsync().AsTask());
        Assert.Equal((1, 1), (error.Limit, error.MaxWaiting));
        Assert.True(Transient.IsTransient(error));
        limit.Leave();
        await wait.WithinAsync();
        Task next = limit.EnterAsync().AsTask();
        limit.Leave();
        await next.WithinAsync();
        SharedConcurrencyLimit never = new(1, maxWaiting: 0);
        await never.EnterAsync();
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => never.EnterAsync().AsTask());
    }

    [Fact(Timeout = Timeout)]
    public async Task Limit_Raised_WaitingCallsStart()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.True(limit.TryEnter());
        Task[] waits = [.. Enumerable.Range(0, 3).Select(_ => limit.EnterAsync().AsTask())];
        limit.Limit = 3;
        await waits[0].WithinAsync();
        await waits[1].WithinAsync();
        Assert.False(waits[2].IsCompleted);
        Assert.Equal((3, 1), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task Limit_Lowered_NobodyStartsUntilEnoughHaveEnded()
    {
        SharedConcurrencyLimit limit = new(3);
        Assert.True(limit.TryEnter() && limit.TryEnter() && limit.TryEnter());
        limit.Limit = 1;
        Task wait = limit.EnterAsync().AsTask();
        limit.Leave();
        limit.Leave();
        Assert.False(wait.IsCompleted);
        Assert.Equal((1, 1), (limit.InUse, limit.Waiting));
        limit.Leave();
        await wait.WithinAsync();
        limit.Leave();
        Assert.Throws<InvalidOperationException>(limit.Leave);
    }

    [Fact(Timeout = Timeout)]
    public async Task ExecuteAsync_WhateverTheCallDoes_ReturnsThePlace()
    {
        SharedConcurrencyLimit limit = new(1);
        Assert.Equal(7, await limit.ExecuteAsync(static (x, _) => new ValueTask<int>(x), 7));
        await Assert.ThrowsAsync<TestException>(() => limit.ExecuteAsync<int>(static _ => throw new TestException("at once")).AsTask());
        await Assert.ThrowsAsync<TestException>(() => limit.ExecuteAsync<int>(static async _ =>
        {
            await Task.Yield();
            throw new TestException("later");
        }).AsTask());
        using CancellationTokenSource cancelling = new();
        TaskCompletionSource<int> never = new();
        Task call = limit.ExecuteAsync(token => new ValueTask<int>(never.Task.WaitAsync(token)), cancelling.Token).AsTask();
        Task behind = limit.ExecuteAsync(static _ => new ValueTask<int>(1), cancelling.Token).AsTask();
        Assert.Equal((1, 1), (limit.InUse, limit.Waiting));
        await cancelling.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
        await behind.EndsAsync();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
    }

    [Fact(Timeout = Timeout)]
    public async Task User_WithABound_LetsOthersPassWhenItCannotUseMore()
    {
        SharedConcurrencyLimit limit = new(2);
        int most = 1;
        PlaceUser bounded = new(limit, () => most);
        PlaceUser other = new(limit, () => 9);
        Assert.True(limit.TryEnter() && limit.TryEnter());
        PlaceTurn first = bounded.Queue();
        PlaceTurn second = bounded.Queue();
        PlaceTurn third = bounded.Queue();
        PlaceTurn behind = other.Queue();
        limit.Leave();
        await first.Served.WithinAsync();
        limit.Leave();

        // The second one's user has all the places that it can use.
        await behind.Served.WithinAsync("the one behind");
        Assert.False(second.Served.IsCompleted);
        Assert.Equal((2, 2), (limit.InUse, limit.Waiting));

        // It has kept its number: it comes before one that came later.
        PlaceTurn last = other.Queue();
        bounded.Leave();
        await second.Served.WithinAsync();
        Assert.False(last.Served.IsCompleted);
        third.Drop();
        other.Leave();
        await last.Served.WithinAsync();
        bounded.Leave();
        other.Leave();
        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        Assert.True(limit.TryEnter());
    }
}

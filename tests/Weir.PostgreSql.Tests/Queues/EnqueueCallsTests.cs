using System.Threading.Channels;
using Npgsql;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>Callers who enqueue at once share statements, and each gets the answer to its own call.</summary>
public class EnqueueCallsTests
{
    private const int Limit = 60_000;

    private readonly Channel<Statement> _statements = Channel.CreateUnbounded<Statement>();
    private readonly ManualTimeProvider _clock = new();
    private readonly EnqueueCalls<string> _calls;

    public EnqueueCallsTests() => _calls = new(NewRows, StoreAsync, _clock);

    [Fact(Timeout = Limit)]
    public async Task Store_WhileAStatementRuns_SharesTheNext()
    {
        Task<int>[] calls = [.. "abcde".Select(name => CallAsync($"{name}"))];
        Statement first = await NextAsync();
        Assert.Equal(["a"], first.Origins);
        Assert.False(_statements.Reader.TryPeek(out _));

        first.End();
        Statement second = await NextAsync();
        Assert.Equal(["b", "c", "d", "e"], second.Origins);
        Assert.False(calls[2].IsCompleted);
        second.End();
        await AssertCountsAsync([1, 1, 1, 1, 1], calls);
        await AssertIdleAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Store_ManyItemsWait_ASecondStatementRunsAndNoThird()
    {
        Task<int> alone = CallAsync("x");
        Statement first = await NextAsync();
        Task<int> many = CallAsync(Some("a", EnqueueCalls<string>.Many));
        Statement second = await NextAsync();
        Task<int> more = CallAsync(Some("b", EnqueueCalls<string>.Many));
        Assert.Equal(2, _calls.Running);

        // Whichever ends first: the next one takes what waits.
        second.End();
        Statement third = await NextAsync();
        Assert.Equal(Some("b", EnqueueCalls<string>.Many), third.Origins);
        third.End();
        first.End();
        await AssertCountsAsync([1, EnqueueCalls<string>.Many, EnqueueCalls<string>.Many], [alone, many, more]);
        await AssertIdleAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Store_SomeWereEnqueuedBefore_EachCallCountsItsOwn()
    {
        Task<int> busy = CallAsync("x");
        Task<int>[] calls = [CallAsync("a", "b"), CallAsync("c"), CallAsync("d", "e", "f"), CallAsync("c", "g")];
        (await NextAsync()).End(0);
        Statement shared = await NextAsync();

        // What two of them have is there once.
        Assert.Equal(["a", "b", "c", "d", "e", "f", "g"], shared.Origins);
        shared.End(1, 3, 5);
        await AssertCountsAsync([0, 1, 1, 1, 1], [busy, .. calls]);
    }

    [Fact(Timeout = Limit)]
    public async Task Store_ServerRefusesTheRowsOfOneCall_FailsThatOneOnly()
    {
        Task<int> busy = CallAsync("x");
        Task<int>[] calls = [CallAsync("a"), CallAsync("bad"), CallAsync("c")];
        (await NextAsync()).End();
        (await NextAsync()).Fail(Refusal("22021"));
        for (int i = 0; i < 3; i++)
        {
            Statement alone = await NextAsync();
            if (alone.Origins[0] == "bad")
            {
                alone.Fail(Refusal("22021"));
            }
            else
            {
                alone.End();
            }
        }

        Assert.Equal(1, await calls[0].WithinAsync());
        Assert.Equal("22021", (await Assert.ThrowsAsync<PostgresException>(() => calls[1].WithinAsync())).SqlState);
        Assert.Equal(1, await calls[2].WithinAsync());
        await busy.WithinAsync();
        await AssertIdleAsync();
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Store_NobodyKnowsWhatIsStored_FailsAllAndGoesOn(bool isShutdown)
    {
        Exception error = isShutdown ? Refusal("57P01") : new NpgsqlException("The connection is gone.");
        Task<int> busy = CallAsync("x");
        Task<int>[] calls = [CallAsync("a"), CallAsync("b")];
        (await NextAsync()).Fail(error);
        (await NextAsync()).Fail(error);
        Assert.Same(error, await Assert.ThrowsAnyAsync<NpgsqlException>(() => busy.WithinAsync()));
        foreach (Task<int> call in calls)
        {
            Assert.Same(error, await Assert.ThrowsAnyAsync<NpgsqlException>(() => call.WithinAsync()));
        }

        await AssertIdleAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Store_StoringThrowsAtOnce_IsTheCallersFailure()
    {
        EnqueueCalls<string> calls = new(NewRows, static (_, _) => throw new ObjectDisposedException("source"), _clock);
        await Task.WhenAll(Enumerable.Range(0, 100).Select(i => Task.Run(async () =>
            await Assert.ThrowsAsync<ObjectDisposedException>(() => calls.StoreAsync(Rows($"{i}"), default).AsTask().WithinAsync()))));
    }

    [Fact(Timeout = Limit)]
    public async Task Store_CancelledWhileItWaits_EndsAtOnceAndIsNotStored()
    {
        using CancellationTokenSource caller = new();
        Task<int> busy = CallAsync("x");
        Task<int> cancelled = _calls.StoreAsync(Rows("a"), caller.Token).AsTask();
        Task<int> after = CallAsync("b");
        await caller.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => cancelled.WithinAsync());
        (await NextAsync()).End();
        Statement shared = await NextAsync();
        Assert.Equal(["b"], shared.Origins);
        shared.End();
        await AssertCountsAsync([1, 1], [busy, after]);
        await AssertIdleAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Store_MoreThanAStatementCarries_IsSeveral()
    {
        Task<int>[] busy = [CallAsync("x"), CallAsync(Some("y", EnqueueCalls<string>.Many))];
        Statement first = await NextAsync();
        Statement second = await NextAsync();
        Task<int>[] calls = [CallAsync(Some("a", 600)), CallAsync(Some("b", 600)), CallAsync("c")];
        first.End();
        Statement shared = await NextAsync();
        Assert.Equal(600, shared.Origins.Length);
        shared.End();
        Statement last = await NextAsync();
        Assert.Equal(601, last.Origins.Length);
        last.End();
        second.End();
        await AssertCountsAsync([600, 600, 1], calls);
        await Task.WhenAll(busy).WithinAsync();
        await AssertIdleAsync();
    }

    [Fact(Timeout = Limit)]
    public async Task Store_AStatementWaitsForATransaction_OthersWaitForItOnce()
    {
        List<Task<int>> stuck = [CallAsync("x")];
        List<Statement> statements = [await NextAsync()];
        for (int round = 0; round < 3; round++)
        {
            Task<int>[] calls = [CallAsync($"a{round}"), CallAsync($"b{round}")];
            Assert.False(_statements.Reader.TryPeek(out _));
            _clock.Advance(EnqueueCalls<string>.Patience);
            Statement shared = await NextAsync();
            Assert.Equal([$"a{round}", $"b{round}"], shared.Origins);
            if (round < 2)
            {
                // One more that waits.
                statements.Add(shared);
                stuck.AddRange(calls);
                continue;
            }

            shared.End();
            await AssertCountsAsync([1, 1], calls);
        }

        // Nobody waits for those any more, so the next one is not held up by them.
        await AssertIdleAsync();
        Task<int> next = CallAsync("c");
        (await NextAsync()).End();
        await AssertCountsAsync([1], [next]);

        // Their end does not begin a statement beside the one that runs.
        Task<int>[] after = [CallAsync("d"), CallAsync("e")];
        Statement running = await NextAsync();
        statements.ForEach(static statement => statement.End());
        await AssertCountsAsync([1, 1, 1, 1, 1], [.. stuck]);
        Assert.Equal(1, _calls.Running);
        running.End();
        Statement following = await NextAsync();
        Assert.Equal(["e"], following.Origins);
        following.End();
        await AssertCountsAsync([1, 1], after);
        await AssertIdleAsync();
    }

    // A shared statement is over a moment after its calls.
    private Task AssertIdleAsync() => Guard.UntilAsync(() => _calls.Running == 0, "no statement runs");

    private static async Task AssertCountsAsync(int[] expected, Task<int>[] calls)
    {
        int[] counts = await Task.WhenAll(calls).WithinAsync();
        Assert.Equal(expected, counts);
    }

    private static string[] Some(string name, int count) => [.. Enumerable.Range(0, count).Select(i => $"{name}{i}")];

    private static PostgresException Refusal(string state) => new("refused", "ERROR", "ERROR", state);

    private static ItemRows<string> NewRows() => new(WorkSerializer.Text, 100, isUnique: true);

    private static ItemRows<string> Rows(params string[] origins)
    {
        ItemRows<string> rows = NewRows();
        rows.Fill([.. origins.Select(static o => new WorkItem<string>(new WorkId(o, 0), o))], 0);
        return rows;
    }

    private Task<int> CallAsync(params string[] origins) => _calls.StoreAsync(Rows(origins), CancellationToken.None).AsTask();

    private Task<Statement> NextAsync() => _statements.Reader.ReadAsync().AsTask().WithinAsync("the next statement");

    private ValueTask<List<int>> StoreAsync(ItemRows<string> rows, CancellationToken cancellationToken)
    {
        Statement statement = new((string[])rows.Parameters(TimeSpan.Zero)[0].Value!);
        Assert.True(_statements.Writer.TryWrite(statement));
        return new ValueTask<List<int>>(statement.Known);
    }

    private sealed class Statement(string[] origins)
    {
        private readonly TaskCompletionSource<List<int>> _end = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public string[] Origins => origins;

        public Task<List<int>> Known => _end.Task;

        public void End(params int[] known) => _end.SetResult([.. known]);

        public void Fail(Exception error) => _end.SetException(error);
    }
}

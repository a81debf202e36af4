using Weir.Delivery;
using Weir.PostgreSql;

namespace Weir.Explore.Tests.Scenarios;

/// <summary>Callers who enqueue at once in a queue of PostgreSQL, without its server.</summary>
public class EnqueueScenarios(ITestOutputHelper output)
{
    [Fact]
    public void Callers_WhoEnqueueAtOnce_AreStoredOnceEachByOneStatementAtATime() => output.Explored(static async () =>
    {
        // A call that nobody stores would be found after its patience. Here nobody has any.
        Table table = new();
        EnqueueCalls<string> calls = new(NewRows, table.StoreAsync, new StandingClock());
        int[] counts = await Task.WhenAll(
            Task.Run(() => CallAsync(calls, "a", "b")), Task.Run(() => CallAsync(calls, "c")), Task.Run(() => CallAsync(calls, "d")));
        Assert.Equal([2, 1, 1], counts);
        Assert.Equal((4, 1), (table.Rows, table.MostAtOnce));

        // Whoever comes after them waits for nobody who has ended.
        Assert.Equal(1, await CallAsync(calls, "e"));
    });

    [Fact]
    public void Statement_ThatWaits_HoldsUpOthersForAWhileOnly() => output.Explored(static async () =>
    {
        Table table = new();
        TaskCompletionSource transaction = new();
        ItemRows<string>? held = null;

        // The first one that calls share.
        EnqueueCalls<string> calls =
            CallsWithOneHeld(table, () => held is null ? held = NewRows() : NewRows(), rows => rows == held, transaction.Task);
        Task<int>[] before = [Task.Run(() => CallAsync(calls, "a")), Task.Run(() => CallAsync(calls, "b")), Task.Run(() => CallAsync(calls, "c"))];
        await Task.Delay(2 * EnqueueCalls<string>.Patience);
        Task<int>[] after = [Task.Run(() => CallAsync(calls, "d")), Task.Run(() => CallAsync(calls, "e"))];
        transaction.SetResult();
        int[] counts = await Task.WhenAll([.. before, .. after]);
        Assert.Equal([1, 1, 1, 1, 1], counts);
        Assert.Equal(5 - (held?.Count ?? 0), table.Rows);

        // Those that did not wait for it any more: its end begins none beside them.
        Assert.Equal(1, table.MostAtOnce);
    });

    [Fact]
    public void Statement_OfOneThatWaited_EndsWithoutASayInTheNextSeries() => output.Explored(static async () =>
    {
        Table table = new();
        TaskCompletionSource transaction = new();
        ItemRows<string> first = Rows("a");
        EnqueueCalls<string> calls = CallsWithOneHeld(table, NewRows, rows => rows == first, transaction.Task);
        Task<int> held = calls.StoreAsync(first, default).AsTask();

        // Its patience ends, and another series begins with it.
        Assert.Equal(1, await CallAsync(calls, "b"));
        long begin = TimeProvider.System.GetTimestamp();
        Task<int>[] after = [Task.Run(() => CallAsync(calls, "c")), Task.Run(() => CallAsync(calls, "d"))];
        transaction.SetResult();
        int[] counts = await Task.WhenAll([held, .. after]);
        Assert.Equal([1, 1, 1], counts);
        Assert.Equal(1, await CallAsync(calls, "e"));
        Assert.Equal((4, 1), (table.Rows, table.MostAtOnce));

        // Each statement has begun the next one: nobody was served because his patience ended.
        Assert.InRange(TimeProvider.System.GetElapsedTime(begin), TimeSpan.Zero, EnqueueCalls<string>.Patience / 2);
    });

    [Fact]
    public void Statement_ThatTakesOneOfTwo_HoldsUpTheOtherForAWhileOnly() => output.Explored(static async () =>
    {
        Table table = new();
        TaskCompletionSource transaction = new();
        ItemRows<string>? held = null;

        // The first one that has waited.
        EnqueueCalls<string> calls =
            CallsWithOneHeld(table, () => held is null ? held = OneRow() : OneRow(), rows => rows == held, transaction.Task);
        Task<int[]> all = Task.WhenAll(
            Task.Run(() => OneAsync(calls, "a")), Task.Run(() => OneAsync(calls, "b")), Task.Run(() => OneAsync(calls, "c")));
        await Task.Delay(4 * EnqueueCalls<string>.Patience);
        Assert.Equal(3, table.Rows + (held?.Count ?? 0));
        transaction.SetResult();
        int[] counts = await all;
        Assert.Equal([1, 1, 1], counts);

        static ItemRows<string> OneRow() => new(WorkSerializer.Text, 100, isUnique: true, maxPack: 1);

        static Task<int> OneAsync(EnqueueCalls<string> calls, string origin)
        {
            ItemRows<string> rows = OneRow();
            rows.Fill([new WorkItem<string>(new WorkId(origin, 0), origin)], 0);
            return calls.StoreAsync(rows, default).AsTask();
        }
    });

    [Fact]
    public void Caller_Cancelled_IsStoredOrNotAndHoldsUpNobody() => output.Explored(static async () =>
    {
        Table table = new();
        using CancellationTokenSource cancel = new();
        EnqueueCalls<string> calls = new(NewRows, table.StoreAsync, new StandingClock());
        Task<int> first = Task.Run(() => CallAsync(calls, "a"));
        Task<int> cancelled = Task.Run(() => calls.StoreAsync(Rows("b"), cancel.Token).AsTask());
        Task cancelling = Task.Run(cancel.Cancel);
        int[] counts = await Task.WhenAll(first, Task.Run(() => CallAsync(calls, "c")));
        Assert.Equal([1, 1], counts);
        await cancelling;
        int known = 2;
        try
        {
            known += await cancelled;
        }
        catch (OperationCanceledException)
        {
        }

        Assert.InRange(table.Rows, known, 3);
        Assert.Equal(1, await CallAsync(calls, "d"));
    });

    /// <summary>Calls whose statements go to the table, but for one that waits for its transaction and then stores nothing.</summary>
    private static EnqueueCalls<string> CallsWithOneHeld(
        Table table, Func<ItemRows<string>> newRows, Func<ItemRows<string>, bool> isHeld, Task transaction) => new(
        newRows,
        async (rows, token) =>
        {
            if (!isHeld(rows))
            {
                return await table.StoreAsync(rows, token);
            }

            await transaction;
            return [];
        },
        TimeProvider.System);

    private static Task<int> CallAsync(EnqueueCalls<string> calls, params string[] origins) => calls.StoreAsync(Rows(origins), default).AsTask();

    private static ItemRows<string> NewRows() => new(WorkSerializer.Text, 100, isUnique: true);

    private static ItemRows<string> Rows(params string[] origins)
    {
        ItemRows<string> rows = NewRows();
        rows.Fill([.. origins.Select(static o => new WorkItem<string>(new WorkId(o, 0), o))], 0);
        return rows;
    }

    private sealed class Table
    {
        private readonly object _lock = new();
        private int _rows;
        private int _now;
        private int _mostAtOnce;

        // Who was cancelled looks while a statement runs.
        public int Rows
        {
            get
            {
                lock (_lock)
                {
                    return _rows;
                }
            }
        }

        public int MostAtOnce
        {
            get
            {
                lock (_lock)
                {
                    return _mostAtOnce;
                }
            }
        }

        public async ValueTask<List<int>> StoreAsync(ItemRows<string> rows, CancellationToken cancellationToken)
        {
            lock (_lock)
            {
                _mostAtOnce = Math.Max(_mostAtOnce, ++_now);
            }

            await Task.Yield();
            lock (_lock)
            {
                _now--;
                _rows += rows.Count;
            }

            return [];
        }
    }
}

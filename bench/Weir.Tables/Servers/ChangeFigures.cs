using Weir.Lab.Formatting;
using Weir.Tables.Servers.Changes;

namespace Weir.Tables.Servers;

/// <summary>How fast changes come out of a database, what it costs to take them to a table through a queue, and what a large transaction needs.</summary>
internal sealed class ChangeFigures : IFigures
{
    private const string Bare = "bare loop over Npgsql";
    private const string Own = "PostgresChangeSource";
    private const string Host = "PostgresChangeSource and WorkHost";
    private const long LargeRows = 300_000;
    private const long SmallRows = 40_000;
    private const long ChainRows = 100_000;
    private const long HugeRows = 5_000_000;
    private const double LeastShare = 0.8;
    private const double LeastRate = 30_000;
    private const long MostBytes = 300L << 20;

    public string Name => "cdc";

    public string Description => "Measures changes of tables: the stream, the way through a queue to a table, and a transaction of 5 million rows.";

    public TextOption Server { get; } = FigureOrder.Postgres();

    public string Page => "cdc";

    public string Title => "changes of tables";

    public IReadOnlyList<PageSection> Sections { get; } =
    [
        new(
            "stream",
            "The stream",
            """
            **Goal:** at least 0.8 of a bare loop.

            Both read the same log from slots of their own, with all three values of each row decoded (int, text of 20 characters, bigint). The bare loop is
            `LogicalReplicationConnection.StartReplication` (pgoutput, binary), which confirms each transaction. The whole way is a `WorkHost` on a
            `ConcurrentRuntime` with all default options, whose position is kept in the database (`PostgresCheckpointStore`). The source alone keeps its
            position in memory.
            """),
        new(
            "chain",
            "From a table to a table",
            """
            **Goal:** 30,000 changes a second through the queue.

            The effect of each change happens once: *straight* with the position in the transaction of the effects (`PostgresCheckpointStore`), and *through the
            queue* with the identities in it (`PostgresWorkQueue`, two workers, `PostgresInbox`). Tables, queue and log are in one database.
            """),
        new(
            "memory",
            "A large transaction",
            """
            **Goal:** less than 300 MB for a transaction of 5 million rows.

            `weir-work cdc` in a process of its own writes it as lines of JSON. The memory is the most that the process ever had (resident).
            """),
    ];

    public async Task<string> MeasureAsync(string section, FigureOrder order, CancellationToken stop)
    {
        await using FigureDatabase database = await order.CreateDatabaseAsync(stop);
        await database.ExecuteAsync("CREATE TABLE rows (id int PRIMARY KEY, name text NOT NULL, amount bigint NOT NULL)", stop);
        await database.ExecuteAsync($"CREATE PUBLICATION {StreamArms.Publication} FOR TABLE rows", stop);
        return section switch
        {
            "stream" => await StreamAsync(database, order.Rounds, order.Progress, stop),
            "chain" => await ChainAsync(database, order.Rounds, order.Progress, stop),
            _ => await MemoryAsync(database, order.Progress, stop),
        };
    }

    private static async Task<string> StreamAsync(FigureDatabase database, int rounds, TextWriter progress, CancellationToken stop)
    {
        FigureTurns turns = new(progress);
        List<string> goals = [];
        foreach ((string work, long rows, int size) in ((string, long, int)[])
            [("1,000 rows a transaction", LargeRows, 1000), ("1 row a transaction", SmallRows, 1)])
        {
            await database.ExecuteAsync("TRUNCATE rows", stop);
            Queue<string> slots = await database.CreateSlotsAsync(3 * (rounds + 1), stop);
            await InsertAsync(database, rows, size, stop);
            await turns.RunAsync(
                [
                    (Bare, () => WithSlotAsync(database, slots, s => StreamArms.BareAsync(database, s, work, rows, stop), stop)),
                    (Host, () => WithSlotAsync(database, slots, s => StreamArms.HostAsync(database, s, work, rows, stop), stop)),
                    (Own, () => WithSlotAsync(database, slots, s => StreamArms.OwnAsync(database, s, work, rows, stop), stop)),
                ],
                rounds,
                stop);
            goals.Add(turns.Goal(work, Host, Bare, LeastShare));
        }

        return $"{turns.Table(Bare)}\n{string.Join('\n', goals)}";
    }

    private static async Task<string> ChainAsync(FigureDatabase database, int rounds, TextWriter progress, CancellationToken stop)
    {
        const string Work = "1,000 rows a transaction";
        const string Queue = "through the queue";
        FigureTurns turns = new(progress);
        Queue<string> slots = await database.CreateSlotsAsync(2 * (rounds + 1), stop);
        await InsertAsync(database, ChainRows, 1000, stop);
        ChainArms arms = new(database, Work, ChainRows);
        await turns.RunAsync(
            [
                ("straight", () => WithSlotAsync(database, slots, s => arms.StraightAsync(s, stop), stop)),
                (Queue, () => WithSlotAsync(database, slots, s => arms.QueueAsync(s, stop), stop)),
            ],
            rounds,
            stop);
        double rate = turns.Rate(Work, Queue);
        return turns.Table("")
            + Invariant($"\n- Through the queue, at least {LeastRate:#,0} changes a second: {rate:#,0}, {TablePage.Verdict(rate >= LeastRate)}");
    }

    private static async Task<string> MemoryAsync(FigureDatabase database, TextWriter progress, CancellationToken stop)
    {
        string slot = (await database.CreateSlotsAsync(1, stop)).Dequeue();
        await InsertAsync(database, HugeRows, (int)HugeRows, stop);
        progress.WriteLine("the transaction is there");
        (long rows, long bytes, TimeSpan time) = await LargeTransaction.ReadAsync(database, slot, HugeRows, stop);
        bool isMet = rows == HugeRows && bytes < MostBytes;
        return Invariant($"- {rows:#,0} rows in {time.TotalSeconds:0.0} s ({rows / time.TotalSeconds:#,0} a second, with the start of the process): ")
            + string.Create(CultureInfo.InvariantCulture, $"at most {Numbers.Bytes(bytes)}, {TablePage.Verdict(isMet)}");
    }

    private static async Task<IReadOnlyList<Pass>> WithSlotAsync(
        FigureDatabase database, Queue<string> slots, Func<string, Task<IReadOnlyList<Pass>>> run, CancellationToken stop)
    {
        string slot = slots.Dequeue();
        IReadOnlyList<Pass> passes = await run(slot);
        await database.DropSlotAsync(slot, stop);
        return passes;
    }

    private static Task InsertAsync(FigureDatabase database, long rows, int size, CancellationToken stop) => database.ExecuteAsync(
        Invariant(
            $"""
            DO $$ BEGIN
                SET synchronous_commit = off;
                FOR i IN 0 .. {(rows / size) - 1} LOOP
                    INSERT INTO rows SELECT n, lpad(n::text, 20, 'name'), n * 7::bigint FROM generate_series(i * {size} + 1, (i + 1) * {size}) AS n;
                    COMMIT;
                END LOOP;
            END $$
            """),
        stop);
}

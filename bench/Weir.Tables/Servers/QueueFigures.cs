using Weir.Tables.Servers.Queue;

namespace Weir.Tables.Servers;

/// <summary>What the queue in PostgreSQL costs beside a loop of the same statements, and how long an item takes through it.</summary>
internal sealed class QueueFigures : IFigures
{
    private const string Bare = "bare loop";
    private const string Own = "PostgresWorkQueue";
    private const string Expert = "expert's loop";
    private const string Host = "PostgresWorkQueue and WorkHost";
    private const string SameStatements = "without history";
    private const double LeastShare = 0.7;
    private const int Timed = 2000;

    private static readonly TimeSpan Pace = TimeSpan.FromMilliseconds(5);
    private static readonly double[] Percentiles = [50, 90, 99, 99.9];

    public string Name => "queue";

    public string Description => "Measures the queue in PostgreSQL: enqueueing, taking, and the time from one to the other.";

    public TextOption Server { get; } = FigureOrder.Postgres();

    public string Page => "postgresql-queue";

    public string Title => "the queue in PostgreSQL";

    public IReadOnlyList<PageSection> Sections { get; } =
    [
        new(
            "whole",
            "The whole way",
            """
            **Goal:** at least 0.7 of a loop that an expert would write.

            25,600 items of 100 bytes, `fsync` on, and all default options: enqueued in batches of 256 by one caller, then handled by a `WorkHost` on a
            `ConcurrentRuntime`, whose processor adds up. The expert's loop has one prepared insert for a batch, and takes 256 rows at a time with one
            `DELETE ... FOR UPDATE SKIP LOCKED ... RETURNING` in the transaction that it handles them in. It knows no identities, keys, retries or dead letters,
            holds its transaction open while it handles, and gives the whole batch back if one item fails.
            """),
        new(
            "throughput",
            "Throughput",
            """
            **Goal:** at least 0.7 of a bare loop of the same statements.

            Items of 100 bytes, one caller, one connection at a time, and `fsync` on. The bare loop inserts with `unnest` and notifies, takes with
            `FOR UPDATE SKIP LOCKED` and deletes by id; it has no leases, no identities and no dead letters. *without history* is the queue with
            `DuplicateHistory = TimeSpan.Zero`, which does the same: the goal is about it. The difference to `PostgresWorkQueue` is what it costs to enqueue an
            identity once, however often it is published. Of 256 items at once, the queue makes one row, and the bare loop 256.
            """),
        new(
            "latency",
            "Latency",
            "From the call that enqueues an item to the call of its processor, one item every 5 ms, a host that waits for notifications."),
    ];

    public async Task<string> MeasureAsync(string section, FigureOrder order, CancellationToken stop)
    {
        await using FigureDatabase database = await order.CreateDatabaseAsync(stop);
        if (section == "whole")
        {
            await using HostArms whole = new(database);
            return await WholeAsync(whole, order.Rounds, order.Progress, stop);
        }

        QueueArms arms = new(database);
        await arms.SetupAsync(stop);
        return section == "latency"
            ? await LatencyAsync(arms, order.Progress, stop)
            : await ThroughputAsync(arms, order.Rounds, order.Progress, stop);
    }

    private static async Task<string> WholeAsync(HostArms arms, int rounds, TextWriter progress, CancellationToken stop)
    {
        await arms.SetupAsync(stop);
        FigureTurns turns = new(progress);
        await turns.RunAsync([(Expert, () => arms.BareAsync(stop)), (Host, () => arms.OwnAsync(stop))], rounds, stop);
        IEnumerable<string> goals = turns.Works.Select(work => turns.Goal(work, Host, Expert, LeastShare, "the expert's loop"));
        return $"{turns.Table(Expert, "share of the expert's loop")}\n{string.Join('\n', goals)}";
    }

    private static async Task<string> ThroughputAsync(QueueArms arms, int rounds, TextWriter progress, CancellationToken stop)
    {
        FigureTurns turns = new(progress);
        await turns.RunAsync(
            [(Bare, () => arms.BareAsync(stop)), (Own, () => arms.OwnAsync(stop)), (SameStatements, () => arms.ForgetfulAsync(stop))], rounds, stop);
        IEnumerable<string> goals = turns.Works.Select(work => turns.Goal(work, SameStatements, Bare, LeastShare));
        return $"{turns.Table(Bare)}\n{string.Join('\n', goals)}";
    }

    private static async Task<string> LatencyAsync(QueueArms arms, TextWriter progress, CancellationToken stop)
    {
        await arms.LatencyAsync(Timed / 10, Pace, stop);
        LatencyHistogram times = await arms.LatencyAsync(Timed, Pace, stop);
        progress.WriteLine("latency measured");
        IEnumerable<string> cells = Percentiles.Select(p => Invariant($"{times.ValueAtPercentile(p) / 1e6:0.0}")).Append(Invariant($"{times.Max / 1e6:0.0}"));
        return Invariant($"| {string.Join(" | ", Percentiles.Select(static p => Invariant($"p{p}")))} | longest |\n|---:|---:|---:|---:|---:|\n")
            + $"| {string.Join(" ms | ", cells)} ms |\n\n{Invariant($"{times.Count:#,0} items.")}";
    }
}

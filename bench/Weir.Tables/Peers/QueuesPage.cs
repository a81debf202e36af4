using Weir.Lab.Queues.Measuring;
using static System.FormattableString;

namespace Weir.Tables.Peers;

/// <summary>The page of the queues beside their peers: what its sections say, and the tables that are made of readings.</summary>
internal static class QueuesPage
{
    /// <summary>The command that makes it.</summary>
    public const string Command = "eng/tables queues-compared --output docs/results/queues-compared.md";

    /// <summary>How many times the best peer's rate Weir's should have.</summary>
    public const double LeastRatio = 3;

    private const double Million = 1e6;

    /// <summary>The sections, by their keys.</summary>
    public static IReadOnlyList<PageSection> Sections { get; } =
    [
        new("throughput", "Throughput", Throughput),
        new(
            "latency",
            "Latency",
            "100 items a second, an empty handler, and a worker that waits for them; from the moment at which an item is to be published to its handler.\n"
                + "A library that does not keep up has a latency that grows for as long as the load lasts, here 6 seconds."),
        new("kills", "Workers that are killed", Kills),
    ];

    private const string Throughput =
        """
        **Goal:** at least 3 times the rate of the best peer on the same server, in publishing and in handling single items.

        16 callers publish, each of which waits until its item is on the server's disk. Then a worker handles all of them, at most two at a time, with nothing
        to do for an item or with 1 ms in which its thread sleeps. An item has about 100 bytes and a message of its own. The first sixth of the items warms up.
        Processor seconds are those of publishing and handling an item without work. RabbitMQ.Client is what the three libraries on RabbitMQ stand on, by
        itself: it shows what a program gets that has nothing else, with a message for each item, and is no peer of the goal.
        """;

    private const string Kills =
        """
        A worker handles items of 1 ms, two at a time, and writes a line for each into a file. Ten times, when it has handled a hundred more, it is killed
        (SIGKILL), and a new process takes its place. *Doubled* are lines too many, *missing* are items without a line when nothing had come for 75 s, which are
        lost or very late, and the last column is the time from the last kill until the last line, with the start of a process and the rest of the items. Jobs
        of Hangfire take longer, so it has fewer of them.
        """;

    /// <summary>Makes the page.</summary>
    public static string Render(SectionPage page) => page.Render(QueuesHead.Text, Sections);

    /// <summary>The table of a section, and what comes after it.</summary>
    /// <param name="section">Its key.</param>
    /// <param name="peers">Those that were measured.</param>
    /// <param name="readings">The readings of each arm.</param>
    public static string Table(string section, IReadOnlyList<QueuePeer> peers, Func<QueuePeer, IReadOnlyList<QueueReading>> readings) => section switch
    {
        "throughput" => ThroughputTable(peers, readings),
        "latency" => Rows(
            ["server", "library"],
            ["p50 ms", "p99 ms"],
            peers,
            peer => [Milliseconds(readings(peer), static r => r.P50), Milliseconds(readings(peer), static r => r.P99)]),
        _ => Rows(
            ["server", "library"],
            ["items", "left at the last kill", "missing", "doubled", "s until the rest was handled"],
            peers,
            peer =>
            [
                Invariant($"{peer.KilledItems:#,0}"),
                Count(readings(peer), static r => r.Left),
                Count(readings(peer), static r => r.Lost),
                Count(readings(peer), static r => r.Doubled),
                Figure(Of(readings(peer), QueueReading.Kills, static r => r.Seconds), "0.0"),
            ]),
    };

    private static string ThroughputTable(IReadOnlyList<QueuePeer> peers, Func<QueuePeer, IReadOnlyList<QueueReading>> readings)
    {
        string table = Rows(
            ["server", "library"],
            ["published a second", "handled a second", "handled a second, 1 ms", "client's CPU s a million", "server's CPU s a million"],
            peers,
            peer =>
            [
                Figure(Rate(readings(peer), QueueReading.Publish), "#,0"),
                Figure(Rate(readings(peer), QueueReading.Handle), "#,0"),
                Figure(Rate(readings(peer), QueueReading.HandleSlowly), "#,0"),
                Figure(Spent(readings(peer), static r => r.Client), "#,0"),
                Figure(Spent(readings(peer), static r => r.Server), "#,0"),
            ]);
        IEnumerable<string> goals =
            from server in peers.GroupBy(static peer => peer.ServerName)
            where server.Any(static peer => peer.Library == QueuePeer.Weir) && server.Any(static peer => peer.IsPeer)
            from work in (string[])[QueueReading.Publish, QueueReading.Handle, QueueReading.HandleSlowly]
            let weir = Rate(readings(server.First(static peer => peer.Library == QueuePeer.Weir)), work)
            let best = server.Where(static peer => peer.IsPeer).MaxBy(peer => Rate(readings(peer), work))
            let ratio = weir / Rate(readings(best), work)
            select Invariant($"- {server.Key}, {work}: at least {LeastRatio} times the best peer ({best.Library}): {ratio:0.00}, ")
                + TablePage.Verdict(ratio >= LeastRatio);
        return $"{table}\n{string.Join('\n', goals)}";
    }

    private static string Rows(string[] labels, string[] figures, IReadOnlyList<QueuePeer> peers, Func<QueuePeer, string[]> cells) =>
        $"| {string.Join(" | ", [.. labels, .. figures])} |\n|"
            + $"{string.Concat(labels.Select(static _ => "---|"))}{string.Concat(figures.Select(static _ => "---:|"))}\n"
            + string.Concat(peers.Select(peer => $"| {peer.ServerName} | {peer.Library} | {string.Join(" | ", cells(peer))} |\n"));

    private static double Rate(IReadOnlyList<QueueReading> readings, string work) => Of(readings, work, static r => r.Items / r.Seconds);

    private static double Of(IReadOnlyList<QueueReading> readings, string work, Func<QueueReading, double?> figure) =>
        readings.Where(r => r.Work == work).Select(figure).OfType<double>().ToArray() is { Length: > 0 } values
            ? TablePage.Median(values, static value => value)
            : double.NaN;

    // Of an item, publishing and handling together.
    private static double Spent(IReadOnlyList<QueueReading> readings, Func<QueueReading, double?> figure) =>
        Of(readings, QueueReading.Publish, r => figure(r) * Million / r.Items) + Of(readings, QueueReading.Handle, r => figure(r) * Million / r.Items);

    private static string Milliseconds(IReadOnlyList<QueueReading> readings, Func<QueueReading, double?> figure) =>
        Figure(Of(readings, QueueReading.Latency, figure) * 1000, "0.0");

    // All rounds: one that loses something is not made good by another.
    private static string Count(IReadOnlyList<QueueReading> readings, Func<QueueReading, int?> figure) =>
        string.Join(", ", readings.Select(r => Invariant($"{figure(r):#,0}")));

    private static string Figure(double value, string format) =>
        double.IsNaN(value) ? "" : value.ToString(format, System.Globalization.CultureInfo.InvariantCulture);
}

using Weir.Lab.Queues.Measuring;
using Weir.Tables.Page;
using Weir.Tables.Peers;
using Weir.TestKit;

namespace Weir.Lab.Suites.Tests;

public class QueuesComparedTests
{
    private static readonly QueuePeer[] Three = [.. QueuePeer.All.Where(static peer => peer.Server == QueuePeer.Postgres)];

    [Fact]
    public void Table_OfRates_HasMediansAndJudgesByTheBestPeer()
    {
        string table = QueuesPage.Table("throughput", Three, static peer => Rates(peer.Library switch { "Weir" => 3000, "Hangfire" => 500, _ => 1000 }));
        Assert.Contains("| PostgreSQL | Weir | 3,000 | 6,000 | 300 | 3,000 | 1,000 |\n", table, StringComparison.Ordinal);
        Assert.Contains("| PostgreSQL | Hangfire | 500 | 1,000 | 300 | 3,000 | 1,000 |\n", table, StringComparison.Ordinal);
        Assert.Contains("- PostgreSQL, publish: at least 3 times the best peer (Wolverine): 3.00, met\n", table, StringComparison.Ordinal);
        Assert.Contains("- PostgreSQL, handle 1 ms: at least 3 times the best peer (Hangfire): 1.00, **missed**", table, StringComparison.Ordinal);
    }

    [Fact]
    public void Table_ClientOfTheBroker_IsARowAndNoPeer()
    {
        QueuePeer[] onRabbit = [.. QueuePeer.All.Where(static peer => peer.Server == QueuePeer.Rabbit)];
        string table = QueuesPage.Table(
            "throughput", onRabbit, static peer => Rates(peer.Library switch { "RabbitMQ.Client" => 9000, "Weir" => 3000, "Wolverine" => 2000, _ => 1000 }));
        Assert.Contains("| RabbitMQ | RabbitMQ.Client | 9,000 |", table, StringComparison.Ordinal);
        Assert.Contains("- RabbitMQ, publish: at least 3 times the best peer (Wolverine): 1.50, **missed**", table, StringComparison.Ordinal);
    }

    [Fact]
    public void Table_ServerThatIsElsewhere_HasNoProcessorTimeOfIt()
    {
        string table = QueuesPage.Table("throughput", [Three[0]], static _ => [.. Rates(1000).Select(static r => r with { Server = null })]);
        Assert.Contains("| PostgreSQL | Weir | 1,000 | 2,000 | 300 | 3,000 |  |\n", table, StringComparison.Ordinal);
        Assert.DoesNotContain("best peer", table, StringComparison.Ordinal);
    }

    [Fact]
    public void Table_OfLatencies_IsInMilliseconds() => Assert.Contains(
        "| PostgreSQL | Weir | 1.5 | 20.0 |\n",
        QueuesPage.Table("latency", [Three[0]], static _ => [new(QueueReading.Latency, 9) { Seconds = 1, P50 = 0.0015, P99 = 0.02 }]),
        StringComparison.Ordinal);

    [Fact]
    public void Table_OfKills_HasEachRoundsLosses()
    {
        static QueueReading Round(int lost) => new(QueueReading.Kills, 9) { Seconds = 2.5, Left = 4000, Lost = lost, Doubled = 7 };
        Assert.Contains(
            "| PostgreSQL | Weir | 6,000 | 4,000, 4,000 | 0, 1 | 7, 7 | 2.5 |\n",
            QueuesPage.Table("kills", [Three[0]], static _ => [Round(0), Round(1)]),
            StringComparison.Ordinal);
    }

    [Fact]
    public void Render_PageOfTheRepository_IsWhatTheGeneratorMakesOfIt()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "results", "queues-compared.md")).ReplaceLineEndings("\n");
        Assert.Equal(QueuesPage.Render(new SectionPage(page)), page);
    }

    // Three rounds, of which the second is the middle one.
    private static QueueReading[] Rates(double published) =>
    [
        .. new[] { 0.5, 1, 4 }.SelectMany(share => (QueueReading[])
        [
            new(QueueReading.Publish, 1000) { Seconds = 1000 / (published * share), Client = 2, Server = 0.5 },
            new(QueueReading.Handle, 1000) { Seconds = 1000 / (2 * published * share), Client = 1, Server = 0.5 },
            new(QueueReading.HandleSlowly, 300) { Seconds = 1 / share, Client = 1, Server = 1 },
        ]),
    ];
}

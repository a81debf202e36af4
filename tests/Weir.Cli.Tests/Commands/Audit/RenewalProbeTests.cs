using System.Diagnostics;
using Npgsql;
using Weir.Audit.Checks;
using Weir.Audit.Engines;
using Weir.Audit.Servers;
using Weir.TestKit;

namespace Weir.Cli.Tests.Commands.Audit;

/// <summary>What says that the machine was too busy for a worker to keep its lease.</summary>
public sealed class RenewalProbeTests(AuditPostgres server) : IClassFixture<AuditPostgres>
{
    private static readonly TimeSpan Held = TimeSpan.FromMilliseconds(20);

    private static CancellationToken Stop => TestContext.Current.CancellationToken;

    [Theory(Timeout = 120_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task EndAsync_ARenewalThatWasHeldUp_IsSaid(bool isStillHeldUp)
    {
        await using AuditServer given = AuditServer.Given(server.Connection, broker: null);
        await using AuditDatabase database = await AuditDatabase.CreateAsync(given, Stop);
        await using NpgsqlConnection holder = await database.Source.OpenConnectionAsync(Stop);
        await using NpgsqlTransaction holding = await holder.BeginTransactionAsync(Stop);
        await AuditTables.ExecuteAsync(holder, "UPDATE renewals SET number = 1", Stop);
        await using RenewalProbe shorter = new(database.Source, Held * 2);
        await using RenewalProbe longer = new(database.Source, TimeSpan.FromHours(8));

        long begun = Stopwatch.GetTimestamp();
        await Guard.UntilAsync(() => Stopwatch.GetElapsedTime(begun) > Held, "the time for which the row is held");
        if (!isStillHeldUp)
        {
            await holding.CommitAsync(Stop);
        }

        Assert.StartsWith("the machine held a lease's renewal up for ", await shorter.EndAsync(), StringComparison.Ordinal);
        Assert.Null(await longer.EndAsync());
    }
}

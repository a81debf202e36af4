using Npgsql;
using Weir.Delivery;
using Weir.Audit.Checks;
using Weir.Audit.Engines;
using Weir.Audit.Plan;
using Weir.Audit.Servers;

namespace Weir.Cli.Tests.Commands.Audit;

/// <summary>The checks of the audit, on tables in which each promise is broken once.</summary>
public sealed class AuditChecksTests(AuditPostgres server) : IClassFixture<AuditPostgres>
{
    [Fact(Timeout = 300_000)]
    public async Task Count_EachPromiseBrokenOnce_CountsEachAlone()
    {
        await using AuditServer given = AuditServer.Given(server.Connection, broker: null);
        await using AuditDatabase database = await AuditDatabase.CreateAsync(given, CancellationToken.None);
        await using PostgresAuditEngine engine = new(database.Source, AuditScenario.All["faults"], SeededFault.None);
        await engine.Queue.SetupAsync();
        AuditTally tally = new(engine);
        await ExecuteAsync("INSERT INTO changes (number, key) SELECT n, 'key ' || n % 2 FROM generate_series(1, 10) n");
        await ExecuteAsync("INSERT INTO effects (number, key) SELECT number, key FROM changes ORDER BY number");
        AuditCounts kept = await CountAsync();
        Assert.Equal(new AuditCounts { Asked = 10, Published = 10, Applied = 10 }, kept);
        Assert.Empty(kept.FindBroken());

        await ExecuteAsync("DELETE FROM effects WHERE number = 10");
        Assert.Equal(["1 lost"], (await CountAsync()).FindBroken());
        await ExecuteAsync("INSERT INTO effects (number, key) VALUES (10, 'key 0')");
        Assert.Empty((await CountAsync()).FindBroken());

        // What is applied once more is not out of order as well.
        await ExecuteAsync("INSERT INTO effects (number, key) VALUES (3, 'key 1')");
        Assert.Equal(["1 applied twice"], (await CountAsync()).FindBroken());
        await ExecuteAsync("DELETE FROM effects WHERE sequence = (SELECT max(sequence) FROM effects)");

        // 4 after 6, 8 and 10.
        await ExecuteAsync("UPDATE effects SET sequence = DEFAULT WHERE number = 4");
        Assert.Equal(["1 out of order"], (await CountAsync()).FindBroken());
        await ExecuteAsync("DELETE FROM effects; INSERT INTO effects (number, key) SELECT number, key FROM changes ORDER BY number");

        await ExecuteAsync("INSERT INTO effects (number, key) VALUES (11, 'key 1')");
        Assert.Equal(["1 applied but never published"], (await CountAsync()).FindBroken());
        await ExecuteAsync("DELETE FROM effects WHERE number = 11; INSERT INTO repeats (number) VALUES (5)");
        Assert.Equal(kept with { DeliveredAgain = 1 }, await CountAsync());

        await engine.Queue.DeadLetters.AddAsync(
            [new DeadLetter { Id = "change/1", Source = "changes", Reason = DeadLetterReason.Failed, Time = DateTimeOffset.UnixEpoch, Payload = new byte[1] }]);
        Assert.Equal(["1 dead letters"], (await CountAsync()).FindBroken());

        // What was not applied when somebody died, and how long after that it was. All were published at once: the rows' own times are as far apart as the
        // server was held up between them.
        AuditRecovery? recovery = await database.RetryAsync(
            async c =>
            {
                DateTime moment = await AuditTables.ScalarAsync<DateTime>(
                    c,
                    """
                    UPDATE changes SET time = (SELECT max(time) FROM changes);
                    UPDATE effects e SET time = c.time + interval '1 s' * (e.number - 5) FROM changes c WHERE c.number = e.number;
                    SELECT max(time) FROM changes
                    """,
                    CancellationToken.None);
                return await AuditChecks.FindRecoveryAsync(c, moment, after: 2, CancellationToken.None);
            },
            CancellationToken.None);
        Assert.Equal(5, recovery?.Waiting);
        Assert.InRange(recovery!.Seconds, 4, 5);

        // Somebody who died, and left its lease.
        Assert.Empty(await engine.FindLeftoversAsync(workers: 0, CancellationToken.None));
        await ExecuteAsync("INSERT INTO weir.consumers (queue, host, lease_until) VALUES ('changes', 'x', now())");
        Assert.Equal(["1 leases of 0 workers"], await engine.FindLeftoversAsync(workers: 0, CancellationToken.None));
        Assert.Empty(await engine.FindLeftoversAsync(workers: 1, CancellationToken.None));
        Assert.Equal(["the database"], await database.FindLeftoversAsync());
        await database.DropAsync();
        Assert.Empty(await database.FindLeftoversAsync());

        async Task ExecuteAsync(string statement)
        {
            await using NpgsqlCommand command = database.Source.CreateCommand(statement);
            await command.ExecuteNonQueryAsync();
        }

        async Task<AuditCounts> CountAsync() =>
            await database.RetryAsync(c => tally.CountAsync(c, reread: true, CancellationToken.None), CancellationToken.None) with { Asked = 10 };
    }

    [Fact(Timeout = 300_000)]
    public async Task Count_RowsThatAppearLate_CountsWhatACountOfAllRowsFinds()
    {
        await using AuditServer given = AuditServer.Given(server.Connection, broker: null);
        await using AuditDatabase database = await AuditDatabase.CreateAsync(given, CancellationToken.None);
        await using PostgresAuditEngine engine = new(database.Source, AuditScenario.All["faults"], SeededFault.None);
        await engine.Queue.SetupAsync();
        await using NpgsqlConnection connection = await database.Source.OpenConnectionAsync();
        AuditTally tally = new(engine);
        await ExecuteAsync(connection, "INSERT INTO changes (number, key) SELECT n, '' FROM generate_series(1, 10) n");
        await ExecuteAsync(connection, "INSERT INTO effects (number, key) SELECT number, key FROM changes WHERE number <= 6");
        Assert.Equal((10, 6, 4), await CountAsync());

        // Rows with lower numbers than some that have been counted, and whose transaction began before the count.
        await using NpgsqlConnection late = await database.Source.OpenConnectionAsync();
        await ExecuteAsync(late, "BEGIN");
        await ExecuteAsync(late, "INSERT INTO changes (number, key) VALUES (11, '')");
        await ExecuteAsync(late, "INSERT INTO effects (number, key) VALUES (7, ''), (11, '')");
        await ExecuteAsync(connection, "INSERT INTO changes (number, key) VALUES (12, '')");
        await ExecuteAsync(connection, "INSERT INTO effects (number, key) VALUES (8, ''), (12, '')");
        Assert.Equal((11, 8, 3), await CountAsync());
        await ExecuteAsync(late, "COMMIT");
        Assert.Equal((12, 10, 2), await CountAsync());
        await ExecuteAsync(connection, "INSERT INTO effects (number, key) VALUES (9, ''), (10, '')");
        Assert.Equal((12, 12, 0), await CountAsync());

        // Late, and in its place all the same: the order is that of the rows, and not that in which they appeared.
        await ExecuteAsync(connection, "INSERT INTO changes (number, key) VALUES (13, 'k'), (14, 'k')");
        await ExecuteAsync(late, "BEGIN");
        await ExecuteAsync(late, "INSERT INTO effects (number, key) VALUES (13, 'k')");
        await ExecuteAsync(connection, "INSERT INTO effects (number, key) VALUES (14, 'k')");
        Assert.Equal((14, 13, 1), await CountAsync());
        await ExecuteAsync(late, "COMMIT");
        Assert.Equal((14, 14, 0), await CountAsync());
        Assert.Equal(0, (await tally.CountAsync(connection, reread: false, CancellationToken.None)).OutOfOrder);

        // What is gone again is missed by whoever reads everything once more.
        await ExecuteAsync(connection, "DELETE FROM effects WHERE number = 5");
        Assert.Equal((14, 14, 0), await CountAsync());
        Assert.Equal(["1 lost"], ((await tally.CountAsync(connection, reread: true, CancellationToken.None)) with { Asked = 14 }).FindBroken());
        await database.DropAsync();

        static ValueTask<int> ExecuteAsync(NpgsqlConnection on, string statement) => AuditTables.ExecuteAsync(on, statement, CancellationToken.None);

        async Task<(long, long, long)> CountAsync()
        {
            AuditCounts counts = await tally.CountAsync(connection, reread: false, CancellationToken.None);
            return (counts.Published, counts.Applied, counts.Lost);
        }
    }

    // A read that breaks off has told the judge a part of the rows.
    [Fact(Timeout = 300_000)]
    public async Task Count_AReadThatBreaksOff_StartsOver()
    {
        await using AuditServer given = AuditServer.Given(server.Connection, broker: null);
        await using AuditDatabase database = await AuditDatabase.CreateAsync(given, CancellationToken.None);
        await using PostgresAuditEngine engine = new(database.Source, AuditScenario.All["no-keys"], SeededFault.None);
        await engine.Queue.SetupAsync();
        await using NpgsqlConnection connection = await database.Source.OpenConnectionAsync();
        AuditTally tally = new(engine);
        await AuditTables.ExecuteAsync(connection, "INSERT INTO changes (number, key) VALUES (1, '')", CancellationToken.None);
        await AuditTables.ExecuteAsync(connection, "ALTER TABLE repeats RENAME TO away", CancellationToken.None);
        await Assert.ThrowsAsync<PostgresException>(() => tally.CountAsync(connection, reread: false, CancellationToken.None).AsTask());
        await AuditTables.ExecuteAsync(connection, "ALTER TABLE away RENAME TO repeats", CancellationToken.None);
        Assert.Equal(1, (await tally.CountAsync(connection, reread: false, CancellationToken.None)).Published);
        await database.DropAsync();
    }
}

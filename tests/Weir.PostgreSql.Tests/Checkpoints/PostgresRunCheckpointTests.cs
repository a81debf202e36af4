using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using Npgsql;
using Weir.PostgreSql.Tests.Queues;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Checkpoints;

/// <summary>An effect and the mark that its item is done, in one transaction: whatever breaks between, the effect is there once.</summary>
public sealed class PostgresRunCheckpointTests(PostgresServer server) : QueueTest(server)
{
    private const string Marker = "WEIR_TESTS_MARKED_RUN";

    public enum Way
    {
        Position,
        Key,
        Statements,
        Batches,
        Transaction,
    }

    private string Effects => $"{SqlName.Quote(Schema)}.effects";

    private string Rows => $"{SqlName.Quote(Schema)}.run_items";

    [Theory(Timeout = Limit)]
    [InlineData(Way.Position)]
    [InlineData(Way.Key)]
    [InlineData(Way.Statements)]
    [InlineData(Way.Batches)]
    [InlineData(Way.Transaction)]
    public async Task Run_SomeItemsFail_TheNextOneHasThoseAlone(Way way)
    {
        PostgresRunCheckpoint import = await NewAsync();
        await RunAsync(Source, import, Schema, way, 100, static i => i % 10 == 3);

        // A batch is done as a whole or not at all, and each of them has an item that fails.
        Assert.Equal(way == Way.Batches ? 0 : 90, await ScalarAsync<long>($"SELECT count(*) FROM {Effects}"));
        await RunAsync(Source, import, Schema, way, 100, static _ => false);
        await AssertEachOnceAsync(100);

        // A mark each by key, and one range by position.
        Assert.Equal(way is Way.Key ? "100" : "0-99", way is Way.Key
            ? (await ScalarAsync<long>($"SELECT count(*) FROM {Rows}")).ToString(CultureInfo.InvariantCulture)
            : await ScalarAsync<string>($"SELECT string_agg(item, ' ') FROM {Rows}"));

        // The source is done, and known to be the same: there is nothing to do.
        await RunAsync(Source, import, Schema, way, 100, static _ => true);
        await AssertEachOnceAsync(100);
    }

    [Theory(Timeout = Limit)]
    [InlineData(Way.Position)]
    [InlineData(Way.Key)]
    [InlineData(Way.Statements)]
    [InlineData(Way.Batches)]
    [InlineData(Way.Transaction)]
    public async Task Calls_WhoseConnectionsAreCutAndThatAreTriedAgain_HaveEachEffectOnce(Way way)
    {
        string name = $"weir-test-{Guid.NewGuid():N}";
        await using NpgsqlDataSource cut = NpgsqlDataSource.Create(
            new NpgsqlConnectionStringBuilder(Server.ConnectionString) { ApplicationName = name }.ToString());
        await NewAsync();
        PostgresRunCheckpoint import = new(cut, "import", Schema);
        using CancellationTokenSource ended = new();
        long cuts = 0;
        Task cutting = Task.Run(async () =>
        {
            // Those of calls, at any moment, also between the commit and its answer; not the one that holds the lock, without which the run stops.
            for (int i = 0; !ended.IsCancellationRequested; i++)
            {
                cuts += await ScalarAsync<long>(
                    $"""
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity a WHERE application_name = '{name}' AND pid % 3 = {i % 3}
                    AND NOT EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND locktype = 'advisory')
                    """);
                await Task.Yield();
            }
        });
        while (true)
        {
            try
            {
                await RunAsync(cut, import, Schema, way, 100, static _ => false, retries: 1_000);
                break;
            }
            catch (NpgsqlException)
            {
                // It had no lock yet.
            }
        }

        await ended.CancelAsync();
        await cutting;
        TestContext.Current.SendDiagnosticMessage($"{cuts} connections cut");
        Assert.InRange(cuts, 10, long.MaxValue);
        await AssertEachOnceAsync(100);
    }

    [Fact(Timeout = Limit)]
    public async Task AnAttemptThatFailsAfterItsCommit_IsNotRepeated()
    {
        PostgresRunCheckpoint import = await NewAsync();
        ConcurrentQueue<bool> happened = [];
        int attempts = 0;
        await Enumerable.Range(0, 1).ForEachParallelAsync(
            async (i, token) =>
            {
                happened.Enqueue(await AddAsync(import, i, token));
                happened.Enqueue(await import.ProcessAsync(i, Source.CreateBatch(), token));
                if (attempts++ == 0)
                {
                    throw new FormatException();
                }
            },
            new ParallelRunOptions { Retry = new() { MaxRetries = 1, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true }, Resume = import.AsCheckpoint() });
        Assert.Equal([true, false, false, false], happened);
        await AssertEachOnceAsync(1);

        // It failed after its commit, and is done all the same.
        ParallelRunOptions options = new() { ErrorMode = ErrorMode.BestEffort, Resume = import.AsCheckpoint().OfVersion("two", "1") };
        for (int run = 0; run < 2; run++)
        {
            await Enumerable.Range(5, 2).Select(static i => i - 4).ForEachParallelAsync(
                async (i, token) =>
                {
                    Assert.True(await AddAsync(import, i - 1, token, by: 1));
                    throw new FormatException();
                },
                options);
        }

        await AssertEachOnceAsync(3);
    }

    [Fact(Timeout = Limit)]
    public async Task AMarkThatIsOnItsWayWhenItsItemEnds_FindsThatItIsDone()
    {
        PostgresRunCheckpoint import = await NewAsync();
        ManualTimeProvider clock = new();
        using Gate waits = new();
        await Enumerable.Range(0, 2).ForEachParallelAsync(
            async (i, token) =>
            {
                if (i == 1)
                {
                    await waits.WaitAsync();
                    Assert.True(await AddAsync(import, 1, token));
                    return;
                }

                // A call for both, such as one that was given up, waits for a transaction that has marked the first of them.
                await using NpgsqlConnection connection = await Source.OpenConnectionAsync(token);
                await using NpgsqlTransaction transaction = await connection.BeginTransactionAsync(token);
                Assert.True(await import.TryMarkAsync(transaction, 0, token));
                Task<int> late = import.ProcessAsync(
                    [0, 1],
                    static item => item,
                    async (t, items, _) =>
                    {
                        foreach (int item in items)
                        {
                            await AddAsync(t, $"{item}");
                        }
                    },
                    token).AsTask();
                string isWaiting = $"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, {SqlName.Literal(Rows)}) > 0)";
                await Guard.UntilAsync(() => ScalarAsync<bool>(isWaiting), "The late one waits");

                // The second one is done, and is in a range.
                waits.Open();
                await Guard.UntilAsync(
                    () =>
                    {
                        clock.Advance(TimeSpan.FromSeconds(1));
                        return ScalarAsync<bool>($"SELECT EXISTS (SELECT FROM {Rows} WHERE item = '1-1')");
                    },
                    "It is saved");
                await transaction.RollbackAsync(token);
                Assert.Equal(1, await late.WithinAsync("the late one"));
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, TimeProvider = clock, Resume = import.AsCheckpoint() });
        await AssertEachOnceAsync(2);
    }

    [Fact(Timeout = Limit)]
    public async Task ASecondRun_IsRefused_AndTheFirstGoesOn()
    {
        PostgresRunCheckpoint import = await NewAsync();
        using Gate gate = new();
        using Gate started = new();
        Task first = Enumerable.Range(0, 3).ForEachParallelAsync(
            async (i, token) =>
            {
                started.Open();
                await gate.WaitAsync();
                await AddAsync(import, i, token);
            },
            new ParallelRunOptions { Resume = import.AsCheckpoint() });
        await started.WaitAsync();
        foreach (PostgresRunCheckpoint second in new[] { import, new PostgresRunCheckpoint(Source, "import", Schema) })
        {
            IOException e = await Assert.ThrowsAsync<IOException>(() => RunAsync(Source, second, Schema, Way.Position, 3, static _ => false));
            Assert.Equal(
                "The checkpoint import is in use by another run, of this process or another: wait for its end, or give this run a checkpoint of its own.", e.Message);
        }

        // Another name, and the same in another schema, are not concerned.
        PostgresRunCheckpoint other = new(Source, "other", Schema);
        await Enumerable.Range(3, 1).ForEachParallelAsync(
            async (i, token) => await AddAsync(other, 0, token, by: i), new ParallelRunOptions { Resume = other.AsCheckpoint() });
        gate.Open();
        await first;
        await AssertEachOnceAsync(4);
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ARunThatLosesItsLock_MarksNothingMore(bool inABatch)
    {
        PostgresRunCheckpoint first = await NewAsync();
        using Gate gate = new();
        using Gate started = new();
        Task lost = Enumerable.Range(0, 2).ForEachParallelAsync(
            async (i, token) =>
            {
                started.Open();
                await gate.WaitAsync();
                NpgsqlBatch batch = Source.CreateBatch();
                batch.BatchCommands.Add(new NpgsqlBatchCommand(Insert(Schema, $"{i}")));
                await (inABatch ? first.ProcessAsync(i, batch, CancellationToken.None) : AddAsync(first, i, CancellationToken.None));
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 2, ErrorMode = ErrorMode.CollectAndContinue, Resume = first.AsCheckpoint().OfVersion("items", "1") });
        await started.WaitAsync();
        await ScalarAsync<long>(
            $"""
            SELECT count(pg_terminate_backend(l.pid, 60000)) FROM pg_locks l
            WHERE locktype = 'advisory' AND (classid::bigint << 32) + objid::bigint = hashtextextended({SqlName.Literal($"weir checkpoint {Schema}.runs.import")}, 0)
            """);
        PostgresRunCheckpoint second = new(Source, "import", Schema);
        await RunAsync(Source, second, Schema, Way.Position, 2, static _ => false);
        gate.Open();
        ItemsFailedException e = await Assert.ThrowsAsync<ItemsFailedException>(() => lost);
        Assert.Equal(2, e.Flatten().InnerExceptions.OfType<WorkSetupException>().Count(
            static x => x.Message.StartsWith("The checkpoint import was taken over by another run, because the connection", StringComparison.Ordinal)));
        await AssertEachOnceAsync(2);
    }

    [Fact(Timeout = Limit)]
    public async Task ANewSource_BeginsAnew_AlsoWhenItIsStoppedAtOnce()
    {
        PostgresRunCheckpoint import = await NewAsync();
        await RunAsync(Source, import, Schema, Way.Position, 10, static _ => false);
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, Resume = import.AsCheckpoint().OfVersion("items", "2") };

        // What is noted is that of the new source before its first item runs.
        await Assert.ThrowsAsync<FormatException>(() => Enumerable.Range(0, 10).ForEachParallelAsync(
            async (i, token) =>
            {
                Assert.Equal("items 2 false", await ScalarAsync<string>($"SELECT source || ' ' || is_complete FROM {SqlName.Quote(Schema)}.runs"));
                Assert.Equal(0, await ScalarAsync<long>($"SELECT count(*) FROM {Rows}"));
                await AddAsync(import, i, token, by: 10);
                throw new FormatException();
            },
            options));
        await Enumerable.Range(0, 10).ForEachParallelAsync(
            async (i, token) => await AddAsync(import, i, token, by: 10), options);
        await AssertEachOnceAsync(20);
    }

    [Theory(Timeout = Limit)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task ADeletedCheckpoint_BeginsAnew(bool byKey)
    {
        PostgresRunCheckpoint import = await NewAsync();
        await RunAsync(Source, import, Schema, byKey ? Way.Key : Way.Position, 10, static i => i == 5);
        PostgresRunCheckpoint other = new(Source, "other", Schema);
        await Enumerable.Range(0, 10).ForEachParallelAsync(
            static (i, _) => i == 5 ? throw new FormatException() : default(ValueTask),
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, ErrorMode = ErrorMode.BestEffort, Resume = other.AsCheckpoint() });
        await import.DeleteAsync();
        Assert.Equal("0-4,6-9", await ScalarAsync<string>($"SELECT string_agg(item, ',' ORDER BY item) FROM {Rows}"));
        await ExecuteAsync($"DELETE FROM {Effects}");
        await RunAsync(Source, import, Schema, byKey ? Way.Position : Way.Key, 10, static _ => false);
        await AssertEachOnceAsync(10);

        // Not while a run has it.
        await import.DeleteAsync();
        PostgresRunCheckpoint third = new(Source, "import", Schema);
        await Enumerable.Range(0, 1).ForEachParallelAsync(
            async (_, _) => await Assert.ThrowsAsync<IOException>(() => import.DeleteAsync()),
            new ParallelRunOptions { Resume = third.AsCheckpoint() });
    }

    [Fact(Timeout = Limit)]
    public async Task WhatCannotBeMarked_IsRefused()
    {
        PostgresRunCheckpoint import = new(Source, "import", Schema);
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 1, Resume = import.AsCheckpoint().By(static (int i) => $"key {i}") };
        WorkSetupException missing = await Assert.ThrowsAsync<WorkSetupException>(() => Enumerable.Range(0, 1).ForEachParallelAsync(static (_, _) => default(ValueTask), options));
        Assert.Contains("The tables of the checkpoints of runs are missing: call SetupAsync", missing.Message, StringComparison.Ordinal);
        await import.SetupAsync();
        await import.SetupAsync();
        Assert.Contains("No run uses the checkpoint import now", (await RefusedAsync("key 1")).Message, StringComparison.Ordinal);
        await Enumerable.Range(0, 2).ForEachParallelAsync(
            async (i, _) =>
            {
                // Its position, the key of one that has not begun or is done, and no key.
                foreach (string other in new[] { $"{i}", $"key {1 - i}", "" })
                {
                    Assert.Contains($"Item {other} of the checkpoint import does not run now", (await RefusedAsync(other)).Message, StringComparison.Ordinal);
                }

                Assert.Contains(
                    "must be text, integers or Guids, not Double",
                    (await Assert.ThrowsAsync<ArgumentException>(async () => await import.ProcessAsync(1.5, static (_, _) => default))).Message,
                    StringComparison.Ordinal);
                NpgsqlBatch barriers = Source.CreateBatch();
                barriers.EnableErrorBarriers = true;
                Assert.Contains(
                    "must have no error barriers",
                    (await Assert.ThrowsAsync<ArgumentException>(async () => await import.ProcessAsync($"key {i}", barriers))).Message,
                    StringComparison.Ordinal);
            },
            options);
        InvalidOperationException tooLong = await Assert.ThrowsAsync<InvalidOperationException>(() => Enumerable.Range(0, 1).ForEachParallelAsync(
            static (_, _) => default(ValueTask), new ParallelRunOptions { Resume = import.AsCheckpoint().By(static (int _) => new string('ä', 251)) }));
        Assert.Contains("at most 500 bytes of UTF-8", tooLong.Message, StringComparison.Ordinal);

        async Task<InvalidOperationException> RefusedAsync(string key) =>
            await Assert.ThrowsAsync<InvalidOperationException>(async () => await import.ProcessAsync(key, static (_, _) => default));
    }

    [Fact(Timeout = Limit)]
    public async Task TwoItemsOfOneKey_AreRefused_BeforeTheSecondRuns()
    {
        PostgresRunCheckpoint import = await NewAsync();
        InvalidOperationException e = await Assert.ThrowsAsync<InvalidOperationException>(() => Enumerable.Range(0, 3).ForEachParallelAsync(
            async (i, token) => Assert.True(await import.ProcessAsync(i / 2, (t, _) => AddAsync(t, $"{i}"), token)),
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, Resume = import.AsCheckpoint().By(static (int i) => i / 2) }));
        Assert.Equal("Two items of the source have the key 0: each item needs a key of its own, or the checkpoint import could not tell which of them is done.", e.Message);
        await AssertEachOnceAsync(1);
    }

    /// <summary><c>WEIR_KILLS=200</c> kills more often than a run of all tests has time for.</summary>
    [Theory(Timeout = 3_600_000)]
    [InlineData(Way.Position)]
    [InlineData(Way.Key)]
    [InlineData(Way.Statements)]
    [InlineData(Way.Batches)]
    [InlineData(Way.Transaction)]
    public async Task AProcessThatIsKilled_LeavesNothingOut_AndRepeatsNothing(Way way)
    {
        int kills = int.Parse(Environment.GetEnvironmentVariable("WEIR_KILLS") ?? "2", CultureInfo.InvariantCulture);
        Random random = new(1);
        PostgresRunCheckpoint import = await NewAsync();
        int killed = 0;
        for (int lives = 0; killed < kills; lives++)
        {
            killed += await LiveAsync(way, random.Next(0, 400)) ? 1 : 0;
            if (lives == 500)
            {
                Assert.Fail("A process ends before it is killed.");
            }
        }

        // The rest.
        Assert.False(await LiveAsync(way, null));
        await AssertEachOnceAsync(ItemsOfAProcess(kills));
    }

    /// <summary>The process that is killed. Without the marker, the test has nothing to do.</summary>
    [Fact(Timeout = 600_000)]
    public async Task InAProcessThatIsKilled()
    {
        if (Environment.GetEnvironmentVariable(Marker)?.Split('|') is not [{ } way, { } count, { } schema])
        {
            return;
        }

        Console.WriteLine("running");
        await RunAsync(
            Source, new PostgresRunCheckpoint(Source, "import", schema), schema, Enum.Parse<Way>(way), int.Parse(count, CultureInfo.InvariantCulture), static _ => false);
    }

    private static int ItemsOfAProcess(int kills) => Math.Max(2, kills) * 2_000;

    // Whether it was killed; otherwise it came to its end.
    private async Task<bool> LiveAsync(Way way, int? killAfter)
    {
        ProcessStartInfo start = new(Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet") { RedirectStandardOutput = true };
        start.Environment[Marker] = $"{way}|{ItemsOfAProcess(int.Parse(Environment.GetEnvironmentVariable("WEIR_KILLS") ?? "2", CultureInfo.InvariantCulture))}|{Schema}";
        start.Environment[SharedServers.PostgresVariable] = Server.ConnectionString;
        string method = $"{typeof(PostgresRunCheckpointTests).FullName}.{nameof(InAProcessThatIsKilled)}";
        foreach (string argument in new[] { "exec", typeof(PostgresRunCheckpointTests).Assembly.Location, "-noColor", "-method", method })
        {
            start.ArgumentList.Add(argument);
        }

        using Process child = Process.Start(start)!;
        while (await child.StandardOutput.ReadLineAsync() is { } line && line != "running")
        {
        }

        Task<string> output = child.StandardOutput.ReadToEndAsync();
        Task end = child.WaitForExitAsync();
        if (killAfter is { } delay && await Task.WhenAny(end, Task.Delay(TimeSpan.FromMilliseconds(delay), TimeProvider.System)) != end)
        {
            child.Kill();
            await end;
            return true;
        }

        string text = await output;
        await end;
        Assert.True(child.ExitCode == 0 && text.Contains("Total: 1, Errors: 0, Failed: 0", StringComparison.Ordinal), text);
        return false;
    }

    // A run of items that add their number to the effects, which have no key: what is done twice is there twice.
    private static async Task RunAsync(
        NpgsqlDataSource calls, PostgresRunCheckpoint import, string schema, Way way, int count, Func<int, bool> fails, int retries = 0)
    {
        Checkpoint checkpoint = import.AsCheckpoint().OfVersion("items", "1");
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 8,
            ErrorMode = retries > 0 ? ErrorMode.FailFast : ErrorMode.BestEffort,
            Retry = retries > 0 ? new() { MaxRetries = retries, BaseDelay = TimeSpan.Zero, IsTransient = static _ => true } : null,
            Resume = way == Way.Key ? checkpoint.By(static (int i) => $"item {i}") : checkpoint,
        };
        if (way == Way.Batches)
        {
            await Enumerable.Range(0, count).ForEachBatchParallelAsync(
                10,
                async (batch, token) => await import.ProcessAsync(
                    batch,
                    static i => i,
                    async (transaction, items, _) =>
                    {
                        foreach (int item in items)
                        {
                            await EffectAsync(transaction, item);
                        }
                    },
                    token),
                options);
            return;
        }

        await Enumerable.Range(0, count).ForEachParallelAsync(
            async (i, token) =>
            {
                switch (way)
                {
                    case Way.Statements:
                        await using (NpgsqlBatch batch = calls.CreateBatch())
                        {
                            batch.BatchCommands.Add(new NpgsqlBatchCommand(Insert(schema, $"{i}")));
                            if (fails(i))
                            {
                                batch.BatchCommands.Add(new NpgsqlBatchCommand("SELECT 1/0"));
                            }

                            await import.ProcessAsync(i, batch, token);
                        }

                        break;

                    case Way.Transaction:
                        await using (NpgsqlConnection connection = await calls.OpenConnectionAsync(token))
                        await using (NpgsqlTransaction transaction = await connection.BeginTransactionAsync(token))
                        {
                            if (await import.TryMarkAsync(transaction, i, token))
                            {
                                await EffectAsync(transaction, i);
                                await transaction.CommitAsync(token);
                            }
                        }

                        break;

                    default:
                        await (way == Way.Key
                            ? import.ProcessAsync($"item {i}", (t, _) => EffectAsync(t, i), token)
                            : import.ProcessAsync(i, (t, _) => EffectAsync(t, i), token));
                        break;
                }
            },
            options);

        async ValueTask EffectAsync(NpgsqlTransaction transaction, int item)
        {
            await using NpgsqlCommand insert = new(Insert(schema, $"{item}"), transaction.Connection);
            await insert.ExecuteNonQueryAsync();
            if (fails(item))
            {
                throw new FormatException();
            }
        }
    }

    private static string Insert(string schema, string value) => $"INSERT INTO {SqlName.Quote(schema)}.effects VALUES ({SqlName.Literal(value)})";

    private async Task<PostgresRunCheckpoint> NewAsync()
    {
        PostgresRunCheckpoint import = new(Source, "import", Schema);
        await import.SetupAsync();
        await ExecuteAsync($"CREATE TABLE {Effects} (value text)");
        return import;
    }

    private async ValueTask AddAsync(NpgsqlTransaction transaction, string value)
    {
        await using NpgsqlCommand insert = new(Insert(Schema, value), transaction.Connection);
        await insert.ExecuteNonQueryAsync();
    }

    // Does an item: adds its number, or one that is greater, to the effects.
    private ValueTask<bool> AddAsync(PostgresRunCheckpoint import, int item, CancellationToken token, int by = 0) =>
        import.ProcessAsync(item, (transaction, _) => AddAsync(transaction, $"{item + by}"), token);

    private async Task AssertEachOnceAsync(int count)
    {
        List<string> values = [];
        await using NpgsqlCommand query = Source.CreateCommand($"SELECT value FROM {Effects} ORDER BY value::int");
        await using NpgsqlDataReader reader = await query.ExecuteReaderAsync(CancellationToken.None);
        while (await reader.ReadAsync(CancellationToken.None))
        {
            values.Add(reader.GetString(0));
        }

        Assert.Equal(Enumerable.Range(0, count).Select(static i => $"{i}"), values);
    }
}

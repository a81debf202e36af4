using Npgsql;
using NpgsqlTypes;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>What is wrong is said before anything is read, with what to do.</summary>
public sealed class PreflightTests(PostgresServer server) : ChangeTest(server)
{
    private static readonly PostgresChangeSourceOptions Impatient = Quiet with { SlotWait = TimeSpan.Zero };

    [Fact(Timeout = Limit)]
    public async Task Open_PublicationIsMissing_SaysHowToCreateIt()
    {
        await ExecuteAsync($"DROP PUBLICATION {Publication}");
        await SaysAsync("CREATE PUBLICATION", static s => s.SetupAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Read_PublicationWasMadeAgain_GoesOnUnlessThereAreChangesInBetween()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1)");
        await ExecuteAsync($"DROP PUBLICATION {Publication}; CREATE PUBLICATION {Publication} FOR TABLE {Table}");
        await ExecuteAsync($"INSERT INTO {Table} VALUES (2)");
        await using (IWorkSource<string> source = await stream.OpenSourceAsync(Text))
        {
            Assert.Equal(["+1=", "+2="], await TakeAsync(source, 2));
        }

        await ExecuteAsync($"INSERT INTO {Table} VALUES (3)");
        await ExecuteAsync($"DROP PUBLICATION {Publication}");
        await ExecuteAsync($"INSERT INTO {Table} VALUES (4)");
        await ExecuteAsync($"CREATE PUBLICATION {Publication} FOR TABLE {Table}");
        await ExecuteAsync($"INSERT INTO {Table} VALUES (5)");
        await using IWorkSource<string> stuck = await stream.OpenSourceAsync(Text);
        Assert.Equal(["+3="], await TakeAsync(stuck, 1));
        WorkSetupException wrong = await Assert.ThrowsAsync<WorkSetupException>(() => NextAsync(stuck));
        Assert.Contains("was dropped and made again", wrong.Message, StringComparison.Ordinal);
        Assert.Contains("--drop", wrong.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Open_NothingIsSetUp_SaysSo() => await SaysAsync("SetupAsync", OpenAsync);

    [Fact(Timeout = Limit)]
    public async Task Open_TableHasNoIdentity_NamesItUnlessOnlyInsertsArePublished()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"ALTER TABLE {Table} DROP CONSTRAINT rows_pkey");
        await SaysAsync("REPLICA IDENTITY FULL", OpenAsync);
        await SaysAsync(".rows", OpenAsync);
        await ExecuteAsync($"ALTER PUBLICATION {Publication} SET (publish = 'insert')");
        await OpenAsync(stream);
        await ExecuteAsync($"ALTER PUBLICATION {Publication} SET (publish = 'insert, delete'); ALTER TABLE {Table} REPLICA IDENTITY FULL");
        await OpenAsync(stream);
        string partitioned = Name("pieces");
        await ExecuteAsync($"CREATE TABLE {partitioned} (id int) PARTITION BY LIST (id); CREATE TABLE {Name("leaf")} PARTITION OF {partitioned} DEFAULT");
        await ExecuteAsync($"ALTER PUBLICATION {Publication} ADD TABLE {partitioned}; ALTER PUBLICATION {Publication} SET (publish_via_partition_root)");
        await SaysAsync(".leaf", OpenAsync);
    }

    [Fact(Timeout = Limit)]
    public async Task Open_SlotIsOfAnotherKind_SaysWhich()
    {
        await ExecuteAsync($"SELECT pg_create_logical_replication_slot('{Slot}', 'test_decoding')");
        await SaysAsync("test_decoding", static s => s.SetupAsync());
        await ExecuteAsync($"SELECT pg_drop_replication_slot('{Slot}'); SELECT pg_create_physical_replication_slot('{Slot}')");
        await SaysAsync("physical", OpenAsync);
        await ExecuteAsync($"SELECT pg_drop_replication_slot('{Slot}')");
        string database = $"other_{Guid.NewGuid():N}";
        await ExecuteAsync($"CREATE DATABASE {database} TEMPLATE template0");
        try
        {
            await using NpgsqlDataSource other = NpgsqlDataSource.Create(
                new NpgsqlConnectionStringBuilder(ConnectionString) { Database = database, Pooling = false });
            await other.ExecuteAsync($"SELECT pg_create_logical_replication_slot('{Slot}', 'pgoutput')");
            await SaysAsync(database, OpenAsync);
            await other.ExecuteAsync($"SELECT pg_drop_replication_slot('{Slot}')");
        }
        finally
        {
            await ExecuteAsync($"DROP DATABASE {database} WITH (FORCE)");
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Open_CheckpointAndSlotDoNotMatch_SaysWhyAndWhatToDo()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        string start = (await Checkpoints.LoadAsync(Slot))!;
        await Checkpoints.SaveAsync(Slot, "FFFFFFF/0");
        await SaysAsync("log ends", OpenAsync);
        await Checkpoints.SaveAsync(Slot, "0/1");
        await SaysAsync("moved on", OpenAsync);
        await Checkpoints.SaveAsync(Slot, "17");
        await SaysAsync("'17'", OpenAsync);
        await ExecuteAsync($"SELECT pg_drop_replication_slot('{Slot}')");
        await Checkpoints.SaveAsync(Slot, start);
        await SaysAsync("is gone", OpenAsync);
        await SaysAsync("is gone", static s => s.SetupAsync());
        await stream.DropAsync();
        await stream.DropAsync();
        await stream.SetupAsync();
        await OpenAsync(stream);
        await stream.SetupAsync();

        // A slot without a checkpoint is where the slot is.
        await Checkpoints.SaveAsync(Slot, "");
        await OpenAsync(stream);
        Assert.True(NpgsqlLogSequenceNumber.Parse((await Checkpoints.LoadAsync(Slot))!) >= NpgsqlLogSequenceNumber.Parse(start));
        await Checkpoints.SaveAsync(Slot, "");
        await using PostgresChangeSource snapshot = Stream(Quiet with { InitialSnapshot = true });
        await Assert.ThrowsAsync<WorkSetupException>(() => snapshot.SetupAsync());
    }

    [Fact(Timeout = Limit)]
    public async Task Open_SlotIsInUse_SaysSoAndHasItWhenItIsFree()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await using IWorkSource<string> first = await stream.OpenSourceAsync(Text);
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1)");
        await NextAsync(first);
        await SaysAsync("in use", OpenAsync);
        await SaysAsync("in use", static s => s.DropAsync());
        Task<IWorkSource<string>> second = stream.OpenSourceAsync(Text).AsTask();
        await first.DisposeAsync();
        await using IWorkSource<string> next = await second.WithinAsync("the second reader");
        Assert.Equal(["+1="], await TakeAsync(next, 1));
    }

    [Fact(Timeout = Limit)]
    public async Task User_WithTheRightsOfThePage_CanReadAndOthersAreToldWhatIsMissing()
    {
        string user = $"least_{Guid.NewGuid():N}";
        string schema = SqlName.Quote(Schema);
        await ExecuteAsync($"CREATE ROLE {user} LOGIN PASSWORD 'sesame-7'; INSERT INTO {Table} VALUES (1, 'a')");
        try
        {
            string connection = new NpgsqlConnectionStringBuilder(ConnectionString) { Username = user, Password = "sesame-7", Pooling = false }.ToString();
            await using NpgsqlDataSource least = NpgsqlDataSource.Create(connection);
            await using var stream = new PostgresChangeSource(
                connection, Slot, Publication, new PostgresCheckpointStore(least, Schema), Quiet with { InitialSnapshot = true });
            await LacksAsync("checkpoints", stream.SetupAsync());
            await ExecuteAsync($"GRANT USAGE ON SCHEMA {schema} TO {user}; GRANT SELECT, INSERT, UPDATE ON {schema}.checkpoints TO {user}");
            await LacksAsync("rows", stream.SetupAsync());
            await ExecuteAsync($"GRANT SELECT ON {Table} TO {user}");
            await LacksAsync("replication", stream.SetupAsync());
            Assert.Null(await Checkpoints.LoadAsync(Slot));
            await ExecuteAsync($"ALTER ROLE {user} REPLICATION");
            await stream.SetupAsync();
            await ExecuteAsync($"REVOKE SELECT ON {Table} FROM {user}");
            await LacksAsync("rows", OpenAsync(stream));
            await ExecuteAsync($"GRANT SELECT ON {Table} TO {user}");
            await using IWorkSource<string> source = await stream.OpenSourceAsync(Text);
            Assert.Equal(["+1=a"], await TakeAsync(source, 1));
            await ExecuteAsync($"INSERT INTO {Table} VALUES (2, 'b')");
            Assert.Equal(["+2=b"], await TakeAsync(source, 1));
        }
        finally
        {
            await ExecuteAsync($"DROP OWNED BY {user}; DROP ROLE {user}");
        }
    }

    [Fact(Timeout = Limit)]
    public async Task Setup_PositionCannotBeSaved_LeavesNoSlot()
    {
        await using PostgresChangeSource stream = Stream(checkpoints: new ReadOnlyStore());
        await Assert.ThrowsAsync<WorkSetupException>(() => stream.SetupAsync());
        Assert.Equal(0, await ScalarAsync<long>($"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{Slot}'"));
    }

    [Theory]
    [InlineData("Host=a,b;Username=u;Password=sesame-7")]
    [InlineData("Host=a:1,b:2;Username=u;Password=sesame-7;Target Session Attributes=primary")]
    [InlineData("Host=a;Username=u;Password=sesame-7;Target Session Attributes=primary")]
    public void Create_SeveralHosts_SaysThatASlotIsOnOne(string connection)
    {
        ArgumentException refused = Assert.Throws<ArgumentException>(() => new PostgresChangeSource(connection, Slot, "p", Checkpoints));
        Assert.Equal("connectionString", refused.ParamName);
        Assert.Contains("one host", refused.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("sesame-7", refused.ToString(), StringComparison.Ordinal);
    }

    [Fact(Timeout = Limit)]
    public async Task Create_ArgumentsOutOfRange_AreNamedWithoutTheirSecrets()
    {
        await using PostgresChangeSource none = Stream();
        Assert.Equal("slot", Assert.Throws<ArgumentException>(() => new PostgresChangeSource(ConnectionString, "A-b", "p", Checkpoints)).ParamName);
        ArgumentException wrong = Assert.Throws<ArgumentException>(
            () => new PostgresChangeSource("Host=127.0.0.1;Password=sesame;open-7", Slot, "p", Checkpoints));
        Assert.DoesNotContain("open-7", wrong.ToString(), StringComparison.Ordinal);
        foreach (PostgresChangeSourceOptions options in new[]
        {
            Quiet with { MaxChangesPerBatch = 0 }, Quiet with { MaxBytesPerBatch = 0 }, Quiet with { MaxBufferedBatches = 0 },
            Quiet with { HeartbeatInterval = TimeSpan.Zero }, Quiet with { SlotWait = TimeSpan.FromSeconds(-1) }, Quiet with { Order = (PostgresChangeOrder)9 },
        })
        {
            Assert.Throws<ArgumentOutOfRangeException>(() => Stream(options));
        }

        string secret = new NpgsqlConnectionStringBuilder(ConnectionString) { Password = "sesame-7", Pooling = false }.ToString();
        await using var refused = new PostgresChangeSource(secret, Slot, Publication, Checkpoints, Quiet);
        Exception failure = await Assert.ThrowsAsync<WorkSetupException>(() => refused.SetupAsync());
        Assert.DoesNotContain("sesame-7", failure.ToString(), StringComparison.Ordinal);
        string nowhere = new NpgsqlConnectionStringBuilder(secret) { Port = 1 }.ToString();
        await using var away = new PostgresChangeSource(nowhere, Slot, Publication, Checkpoints, Quiet);
        failure = await Assert.ThrowsAnyAsync<NpgsqlException>(() => away.SetupAsync());
        Assert.DoesNotContain("sesame-7", failure.ToString(), StringComparison.Ordinal);
    }

    private sealed class ReadOnlyStore : ICheckpointStore
    {
        public ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default) => new((string?)null);

        public ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default) =>
            throw new WorkSetupException("It cannot be written.");
    }

    private static async Task OpenAsync(PostgresChangeSource stream)
    {
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
    }

    private static async Task LacksAsync(string what, Task call)
    {
        WorkSetupException missing = await Assert.ThrowsAsync<WorkSetupException>(() => call);
        Assert.Contains("right", missing.Message, StringComparison.Ordinal);
        Assert.Contains(what, missing.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("sesame-7", missing.ToString(), StringComparison.Ordinal);
    }

    private async Task SaysAsync(string what, Func<PostgresChangeSource, Task> call)
    {
        await using PostgresChangeSource stream = Stream(Impatient);
        WorkSetupException wrong = await Assert.ThrowsAsync<WorkSetupException>(() => call(stream));
        Assert.Contains(what, wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("\n", wrong.Message, StringComparison.Ordinal);
    }
}

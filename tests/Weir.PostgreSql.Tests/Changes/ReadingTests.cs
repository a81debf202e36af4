using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>What changes have in them, and in which order they come.</summary>
public sealed class ReadingTests(PostgresServer server) : ChangeTest(server)
{
    [Fact(Timeout = Limit)]
    public async Task Read_ChangesOfAllKinds_AreThereWithTheirTransaction()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a'), (2, NULL)");
        await ExecuteAsync($"UPDATE {Table} SET value = 'b' WHERE id = 1; DELETE FROM {Table} WHERE id = 2; UPDATE {Table} SET id = 3");
        await ExecuteAsync($"TRUNCATE {Table}");
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<PostgresChange> changes = await TakeAsync(source, 6);
        Assert.Equal(["+1=a", "+2=", "1=b", "-2", "3=b", "0"], changes.Select(Text));
        Assert.Equal([0, 1, 0, 1, 2, 0], changes.Select(static c => c.Index));
        Assert.Equal([false, true, false, false, true, true], changes.Select(static c => c.IsLast));
        Assert.Equal([1, 1, 2, 2, 2, 3], Ranks(changes.Select(static c => (ulong)c.CommitLsn)));
        Assert.Equal([1, 1, 2, 2, 2, 3], Ranks(changes.Select(static c => (ulong)c.TransactionId)));
        Assert.All(changes, change => Assert.Equal($"{Slot}:{change.CommitLsn}/{change.Index}", change.Id.ToString()));
        Assert.All(changes, change => Assert.Equal((Schema, "rows", 1), (change.Relation.Schema, change.Relation.Name, change.Relation.Version)));
        Assert.All(changes, static change => Assert.InRange(change.CommitTime, DateTimeOffset.UnixEpoch.AddYears(50), DateTimeOffset.UnixEpoch.AddYears(200)));
        Assert.Equal([1, 2, 1, 2, 3], changes.Take(5).Select(static c => (int)c.GetKeyValues().Single()!));
        Assert.Empty(changes[5].GetKeyValues());

        // The old row is there if its key is another one, or if nothing else tells it.
        Assert.Equal([null, null, null, 2, 1, null], changes.Select(static c => c.Old?.Get<int?>("id")));
        Assert.Equal(PostgresValueState.NotSent, changes[3].Old!.GetState("value"));
        Assert.Equal(PostgresValueState.Null, changes[1].New!.GetState("value"));
        Assert.Throws<InvalidOperationException>(() => changes[3].Old!["value"]);
        Assert.Throws<InvalidCastException>(() => changes[0].New!.Get<int>("value"));
        Assert.Throws<InvalidCastException>(() => changes[0].New!.Get<long>("id"));
        Assert.Throws<ArgumentException>(() => changes[0].New!["nothing"]);
    }

    [Fact(Timeout = Limit)]
    public async Task Read_PublicationWithAnyName_IsRead()
    {
        const string Odd = "it's \"odd\", 'no'?";
        await ExecuteAsync($"CREATE PUBLICATION {SqlName.Quote(Odd)} FOR TABLE {Table}");
        await using PostgresChangeSource stream = new(ConnectionString, Slot, Odd, Checkpoints, Quiet);
        await stream.SetupAsync();
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a')");
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        Assert.Equal("+1=a", Text((await TakeAsync(source, 1))[0]));
    }

    [Fact(Timeout = Limit)]
    public async Task Read_LargeValueThatAnUpdateHasNotChanged_IsNotNull()
    {
        await ExecuteAsync($"ALTER TABLE {Table} ALTER value SET STORAGE EXTERNAL");
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, repeat('x', 100000)); ALTER TABLE {Table} ADD note int");
        await ExecuteAsync($"UPDATE {Table} SET note = 1");
        await ExecuteAsync($"UPDATE {Table} SET value = NULL");
        await ExecuteAsync($"ALTER TABLE {Table} REPLICA IDENTITY FULL; UPDATE {Table} SET value = repeat('y', 100000)");
        await ExecuteAsync($"UPDATE {Table} SET note = 2");
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<PostgresChange> changes = await TakeAsync(source, 5);
        Assert.Equal(new string('x', 100_000), changes[0].New!["value"]);
        Assert.Equal(
            [PostgresValueState.Present, PostgresValueState.Unchanged, PostgresValueState.Null, PostgresValueState.Present, PostgresValueState.Unchanged],
            changes.Select(static c => c.New!.GetState("value")));
        Assert.Throws<InvalidOperationException>(() => changes[1].New!["value"]);
        Assert.Null(changes[1].Old);

        // With the whole row as identity, the old row has it, and the key is still the primary key.
        Assert.Equal((new string('y', 100_000), 1), (changes[4].Old!["value"], changes[4].Old!["note"]));
        Assert.Equal([1], changes[4].GetKeyValues());
    }

    [Fact(Timeout = Limit)]
    public async Task Read_TableIsAlteredMeanwhile_EachChangeHasTheColumnsOfItsTime()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a')");
        PostgresChange first = (await TakeAsync(source, 1))[0];
        await ExecuteAsync($"INSERT INTO {Table} VALUES (2, 'b'); ALTER TABLE {Table} ADD note bigint; INSERT INTO {Table} VALUES (3, 'c', 7)");
        await ExecuteAsync($"ALTER TABLE {Table} DROP value; INSERT INTO {Table} VALUES (4, 8)");
        List<PostgresChange> changes = [first, .. await TakeAsync(source, 3)];
        Assert.Equal(
            ["id,value", "id,value", "id,value,note", "id,note"],
            changes.Select(static c => string.Join(',', c.Relation.Columns.Select(static n => n.Name))));
        Assert.Equal([1, 1, 2, 3], changes.Select(static c => c.Relation.Version));
        Assert.Equal([7L, 8L], changes.Skip(2).Select(static c => c.New!.Get<long>("note")));
        Assert.Equal("b", changes[1].New!["value"]);
        Assert.False(changes[3].Relation.HasColumn("value"));
    }

    [Fact(Timeout = Limit)]
    public async Task Read_ManySmallTransactions_ShareBatchesThatEndWhereTransactionsEnd()
    {
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { MaxChangesPerBatch = 7, MaxBufferedBatches = 2 });
        for (int i = 0; i < 40; i++)
        {
            await ExecuteAsync($"INSERT INTO {Table} SELECT n, 'v' FROM generate_series({i * 3}, {(i * 3) + 2}) n");
        }

        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<WorkBatch<PostgresChange>> batches = [];
        while (batches.Sum(static b => b.Items.Count) < 120)
        {
            batches.Add(await NextAsync(source));
        }

        Assert.All(batches, static batch => Assert.InRange(batch.Items.Count, 1, 7));
        Assert.Equal(Enumerable.Range(0, 120), batches.SelectMany(static b => b.Items).Select(static i => i.Value.New!.Get<int>("id")));

        // The position says whether the last transaction is finished, and so does its last change.
        Assert.All(batches, static batch => Assert.Equal(batch.Items[^1].Value.IsLast, !batch.Position.Contains('+', StringComparison.Ordinal)));
        Assert.All(batches.SelectMany(static b => b.Items), static item => Assert.Equal(item.Value.Index == 2, item.Value.IsLast));
        await source.AcknowledgeAsync(batches, CancellationToken.None);
    }

    [Fact(Timeout = Limit)]
    public async Task Read_TransactionThatIsRolledBackOrOpen_IsNotDelivered()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await using NpgsqlConnection connection = await Source.OpenConnectionAsync();
        await using NpgsqlTransaction late = await connection.BeginTransactionAsync();
        await using (var insert = new NpgsqlCommand($"INSERT INTO {Table} VALUES (1, 'late')", connection))
        {
            await insert.ExecuteNonQueryAsync();
        }

        await ExecuteAsync($"INSERT INTO {Table} VALUES (2, 'early')");
        await ExecuteAsync($"BEGIN; INSERT INTO {Table} VALUES (3, 'never'); ROLLBACK");
        await using IWorkSource<string> source = await stream.OpenSourceAsync(Text);
        Assert.Equal(["+2=early"], await TakeAsync(source, 1));
        await late.CommitAsync();
        Assert.Equal(["+1=late"], await TakeAsync(source, 1));
    }

    [Fact(Timeout = Limit)]
    public async Task Read_MappingFails_EndsWithTheChangeThatItWas()
    {
        await using PostgresChangeSource stream = await NewStreamAsync();
        await ExecuteAsync($"INSERT INTO {Table} VALUES (1, 'a')");
        await using IWorkSource<string> source = await stream.OpenSourceAsync<string>(static _ => throw new FormatException("The value is no number."));
        WorkSetupException failure = await Assert.ThrowsAsync<WorkSetupException>(() => NextAsync(source));
        Assert.Contains("The value is no number.", failure.Message, StringComparison.Ordinal);
        Assert.Contains(Slot, failure.Message, StringComparison.Ordinal);
        await source.DisposeAsync();
        await using IWorkSource<string> mended = await stream.OpenSourceAsync(Text);
        Assert.Equal(["+1=a"], await TakeAsync(mended, 1));
    }

    private static IEnumerable<int> Ranks(IEnumerable<ulong> values)
    {
        List<ulong> all = [.. values];
        return all.Select(value => all.Distinct().ToList().IndexOf(value) + 1);
    }
}

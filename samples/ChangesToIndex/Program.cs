using Npgsql;
using Weir.Delivery;
using Weir.PostgreSql;
using Weir.RabbitMQ;
using Weir.Runtimes;

if (Environment.GetEnvironmentVariable("WEIR_POSTGRES") is not { Length: > 0 } connection
    || Environment.GetEnvironmentVariable("WEIR_RABBITMQ") is not { Length: > 0 } broker)
{
    Console.WriteLine("skipped: WEIR_POSTGRES and WEIR_RABBITMQ do not say where servers are; samples/ChangesToIndex/run.sh starts them.");
    return 0;
}

using CancellationTokenSource stop = new();
Console.CancelKeyPress += (_, signal) =>
{
    signal.Cancel = !stop.IsCancellationRequested;
    stop.Cancel();
};

// The table, with some products that were there before anybody listened. Slots belong to the whole server, so this run has a name of its own.
string name = $"changes_to_index_{Guid.NewGuid():N}";
await using NpgsqlDataSource database = NpgsqlDataSource.Create(connection);
await ExecuteAsync($"CREATE TABLE {name} (id int PRIMARY KEY, name text NOT NULL)");
await ExecuteAsync($"INSERT INTO {name} SELECT n, 'green lamp ' || n FROM generate_series(1, 200) AS n");
await ExecuteAsync($"CREATE PUBLICATION {name} FOR TABLE {name}");

// The stream: first the rows that are there, then each change. The position is in the database, and a change is done when the broker has stored it.
PostgresCheckpointStore checkpoints = new(database);
await checkpoints.SetupAsync(stop.Token);
await using PostgresChangeSource changes = new(
    connection, slot: name, publication: name, checkpoints, new PostgresChangeSourceOptions { InitialSnapshot = true });
await changes.SetupAsync(stop.Token);

// The queue, with partitions that keep the order of each product.
await using RabbitWorkQueue<string> queue = new(
    new Uri(broker), "changes-to-index", WorkSerializer.Text, new RabbitWorkQueueOptions { Partitions = 4 });
await queue.SetupAsync(stop.Token);

SearchIndex index = new();
using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(stop.Token);
Task reading = ReadAsync();
Task indexing = IndexAsync();
try
{
    await UntilTheSameAsync();
    Console.WriteLine($"{index.Count} products from the snapshot");
    for (int part = 0; part < 10; part++)
    {
        int first = 201 + (part * 100);
        await ExecuteAsync($"INSERT INTO {name} SELECT n, 'red chair ' || n FROM generate_series({first}, {first + 99}) AS n");
        await ExecuteAsync($"UPDATE {name} SET name = 'blue lamp ' || id WHERE id % 10 = {part} AND id <= 200");
        await ExecuteAsync($"DELETE FROM {name} WHERE id % 10 = {part} AND id > 200");
    }

    await UntilTheSameAsync();
    Console.WriteLine($"{index.Count} products in the table and in the index, all the same");
    Console.WriteLine($"lamp: {index.Find("lamp").Length}, blue: {index.Find("blue").Length}, green: {index.Find("green").Length}");
}
catch (OperationCanceledException) when (stop.IsCancellationRequested)
{
    Console.WriteLine($"stopped: {index.Count} products in the index");
}
finally
{
    await end.CancelAsync();
    await Task.WhenAll(reading, indexing);

    // Otherwise the server would keep its log for the slot.
    await changes.DropAsync();
    await ExecuteAsync($"DROP PUBLICATION {name}");
    await ExecuteAsync($"DROP TABLE {name}");
}

return 0;

// From the table to the broker.
async Task ReadAsync()
{
    await using IWorkSource<string> source = await changes.OpenSourceAsync(
        static change => change.Kind == PostgresChangeKind.Delete
            ? $"{change.Old!.Get<int>("id")}"
            : $"{change.New!.Get<int>("id")} {change.New.Get<string>("name")}",
        end.Token);
    await using IWorkSink<string> sink = await queue.OpenSinkAsync(end.Token);
    await using DirectRuntime runtime = new();
    await WorkHost.Create(source, runtime, static (item, _) => new ValueTask<string>(item.Value), sink, Options()).RunAsync(end.Token);
}

// From the broker to the index. Any number of processes could do this.
async Task IndexAsync()
{
    await using IWorkSource<string> source = await queue.OpenSourceAsync(end.Token);
    await using ConcurrentRuntime runtime = new(concurrencyPerCall: 8);
    WorkHost<string> host = new(
        source,
        runtime,
        (item, _) =>
        {
            // What an earlier run left in the queue is of another stream.
            if (item.Id.Origin.StartsWith(name, StringComparison.Ordinal))
            {
                string[] parts = item.Value.Split(' ', 2);
                int id = int.Parse(parts[0], System.Globalization.CultureInfo.InvariantCulture);
                if (parts.Length == 1)
                {
                    index.Remove(id);
                }
                else
                {
                    index.Put(id, parts[1]);
                }
            }

            return default;
        },
        Options() with { PartitionBy = static item => item.Key });
    await host.RunAsync(end.Token);
}

WorkHostOptions<string> Options() => new() { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text };

async Task UntilTheSameAsync()
{
    while (!await RowsAsync().SequenceEqualAsync(index.All.ToAsyncEnumerable(), cancellationToken: stop.Token))
    {
        if (await Task.WhenAny(reading, indexing, Task.Delay(50, stop.Token)) is { IsFaulted: true } failed)
        {
            await failed;
        }
    }
}

async IAsyncEnumerable<(int Id, string Name)> RowsAsync()
{
    await using NpgsqlCommand command = database.CreateCommand($"SELECT id, name FROM {name} ORDER BY id");
    await using NpgsqlDataReader reader = await command.ExecuteReaderAsync(stop.Token);
    while (await reader.ReadAsync(stop.Token))
    {
        yield return (reader.GetInt32(0), reader.GetString(1));
    }
}

async Task ExecuteAsync(string statement)
{
    await using NpgsqlCommand command = database.CreateCommand(statement);
    await command.ExecuteNonQueryAsync();
}

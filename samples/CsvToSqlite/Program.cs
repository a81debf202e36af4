using System.Globalization;
using Microsoft.Data.Sqlite;
using Weir;

string csv = args.Length > 0 ? args[0] : Example.Write(rows: 20_000);
string database = args.Length > 1 ? args[1] : Path.ChangeExtension(csv, ".db");

await using SqliteConnection connection = new($"Data Source={database};Pooling=false");
await connection.OpenAsync();
await ExecuteAsync("DROP TABLE IF EXISTS orders; CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, cents INTEGER NOT NULL)");

int bad = 0;
int batches = 0;
long stored = 0;

// Lines are parsed on all processors, in order. A line that cannot be parsed is reported and left out.
IAsyncEnumerable<Order> orders = File.ReadLinesAsync(csv).Skip(1).SelectParallelStreamAsync(Parse, new ParallelRunOptions
{
    OrderedOutput = true,
    ErrorMode = ErrorMode.BestEffort,
    OnErrorAsync = (index, error) =>
    {
        Interlocked.Increment(ref bad);
        Console.Error.WriteLine($"line {index + 2}: {error.Message}");
        return new ValueTask<bool>(true);
    },
});

// A database file has one writer, so there is one batch at a time. With a server, MaxDegreeOfParallelism is the number of connections.
await foreach (int rows in orders.BatchParallelStreamAsync(
    batchSize: 1_000, InsertAsync, new ParallelRunOptions { MaxDegreeOfParallelism = 1 }, batchTimeout: TimeSpan.FromSeconds(1)))
{
    batches++;
    stored += rows;
}

Console.WriteLine($"{stored} rows in {batches} batches, {bad} bad lines; the table has {await ScalarAsync("SELECT COUNT(*) FROM orders")} rows");

static Order Parse(string line)
{
    string[] fields = line.Split(',');
    return new Order(long.Parse(fields[0], CultureInfo.InvariantCulture), fields[1], decimal.Parse(fields[2], CultureInfo.InvariantCulture));
}

async Task<int> InsertAsync(IReadOnlyList<Order> batch, CancellationToken token)
{
    await using SqliteTransaction transaction = (SqliteTransaction)await connection.BeginTransactionAsync(token);
    await using SqliteCommand insert = connection.CreateCommand();
    insert.Transaction = transaction;
    insert.CommandText = "INSERT INTO orders VALUES ($id, $customer, $cents)";
    SqliteParameter id = insert.Parameters.Add("$id", SqliteType.Integer);
    SqliteParameter customer = insert.Parameters.Add("$customer", SqliteType.Text);
    SqliteParameter cents = insert.Parameters.Add("$cents", SqliteType.Integer);
    foreach (Order order in batch)
    {
        (id.Value, customer.Value, cents.Value) = (order.Id, order.Customer, (long)(order.Amount * 100));
        await insert.ExecuteNonQueryAsync(token);
    }

    await transaction.CommitAsync(token);
    return batch.Count;
}

async Task ExecuteAsync(string sql)
{
    await using SqliteCommand command = new(sql, connection);
    await command.ExecuteNonQueryAsync();
}

async Task<object?> ScalarAsync(string sql)
{
    await using SqliteCommand command = new(sql, connection);
    return await command.ExecuteScalarAsync();
}

internal sealed record Order(long Id, string Customer, decimal Amount);

using System.Globalization;
using Npgsql;
using NpgsqlTypes;
using Weir;

string csv = args.Length > 0 ? args[0] : Example.Write(rows: 20_000);
string? server = args.Length > 1 ? args[1] : Environment.GetEnvironmentVariable("WEIR_POSTGRES");
if (server is null)
{
    Console.Error.WriteLine("Give a connection string after the file, or set WEIR_POSTGRES. `eng/services up postgres` starts a server and prints one.");
    return 2;
}

const int Connections = 4;
await using NpgsqlDataSource database = NpgsqlDataSource.Create(new NpgsqlConnectionStringBuilder(server) { MaxPoolSize = Connections });
await ExecuteAsync("DROP TABLE IF EXISTS csv_orders; CREATE TABLE csv_orders (id bigint PRIMARY KEY, customer text NOT NULL, amount numeric NOT NULL)");

int bad = 0;
int batches = 0;
long stored = 0;

// Lines are parsed on all processors. A line that cannot be parsed is reported and left out.
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

// Each batch in flight has a connection of its own, and while all are busy, no more of the file is read.
await foreach (long rows in orders.BatchParallelStreamAsync(
    batchSize: 1_000, CopyAsync, new ParallelRunOptions { MaxDegreeOfParallelism = Connections }, batchTimeout: TimeSpan.FromSeconds(1)))
{
    batches++;
    stored += rows;
}

Console.WriteLine($"{stored} rows in {batches} batches, {bad} bad lines; the table has {await ExecuteAsync("SELECT COUNT(*) FROM csv_orders")} rows");
return 0;

static Order Parse(string line)
{
    string[] fields = line.Split(',');
    return new Order(long.Parse(fields[0], CultureInfo.InvariantCulture), fields[1], decimal.Parse(fields[2], CultureInfo.InvariantCulture));
}

// A COPY is one statement: a batch is in the table whole or not at all.
async Task<long> CopyAsync(IReadOnlyList<Order> batch, CancellationToken token)
{
    await using NpgsqlConnection connection = await database.OpenConnectionAsync(token);
    await using NpgsqlBinaryImporter copy = await connection.BeginBinaryImportAsync("COPY csv_orders FROM STDIN (FORMAT BINARY)", token);
    foreach (Order order in batch)
    {
        await copy.StartRowAsync(token);
        await copy.WriteAsync(order.Id, NpgsqlDbType.Bigint, token);
        await copy.WriteAsync(order.Customer, NpgsqlDbType.Text, token);
        await copy.WriteAsync(order.Amount, NpgsqlDbType.Numeric, token);
    }

    return (long)await copy.CompleteAsync(token);
}

async Task<object?> ExecuteAsync(string sql)
{
    await using NpgsqlCommand command = database.CreateCommand(sql);
    return await command.ExecuteScalarAsync();
}

internal sealed record Order(long Id, string Customer, decimal Amount);

using System.Diagnostics.CodeAnalysis;
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

// A thousand lines a call. Each batch in flight has a connection of its own, and while all are busy, no more of the file is read.
await foreach (long rows in File.ReadLinesAsync(csv).Index().BatchParallelStreamAsync(
    batchSize: 1_000, (lines, token) => CopyAsync(Parse(lines), token), new ParallelRunOptions { MaxDegreeOfParallelism = Connections }))
{
    batches++;
    stored += rows;
}

Console.WriteLine($"{stored} rows in {batches} batches, {bad} bad lines; the table has {await ExecuteAsync("SELECT COUNT(*) FROM csv_orders")} rows");
return 0;

// The lines of a batch that are orders. What is none is reported and left out; the first line has the names of the columns.
List<Order> Parse(IReadOnlyList<(int Index, string Item)> lines)
{
    List<Order> parsed = new(lines.Count);
    foreach ((int index, string line) in lines)
    {
        if (Order.TryParse(line, out Order? order))
        {
            parsed.Add(order);
        }
        else if (index > 0)
        {
            Interlocked.Increment(ref bad);
            Console.Error.WriteLine($"line {index + 1}: '{line}' is no order");
        }
    }

    return parsed;
}

// A COPY is one statement: a batch is in the table whole or not at all.
async Task<long> CopyAsync(List<Order> batch, CancellationToken token)
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

internal sealed record Order(long Id, string Customer, decimal Amount)
{
    public static bool TryParse(string line, [NotNullWhen(true)] out Order? order)
    {
        string[] fields = line.Split(',');
        order = fields.Length == 3
            && long.TryParse(fields[0], CultureInfo.InvariantCulture, out long id)
            && decimal.TryParse(fields[2], CultureInfo.InvariantCulture, out decimal amount)
            ? new Order(id, fields[1], amount)
            : null;
        return order is not null;
    }
}

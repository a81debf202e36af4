using System.Diagnostics.CodeAnalysis;
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

// A thousand lines a call, on all processors, in the order of the file: a call for each line would cost more than the line. A database file has one writer,
// so the batches are stored one after the other.
await foreach (List<Order> batch in File.ReadLinesAsync(csv).Index().BatchParallelStreamAsync(
    batchSize: 1_000, Parse, new ParallelRunOptions { OrderedOutput = true }))
{
    await InsertAsync(batch);
    batches++;
    stored += batch.Count;
}

Console.WriteLine($"{stored} rows in {batches} batches, {bad} bad lines; the table has {await ScalarAsync("SELECT COUNT(*) FROM orders")} rows");

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

async Task InsertAsync(List<Order> batch)
{
    await using SqliteTransaction transaction = (SqliteTransaction)await connection.BeginTransactionAsync();
    await using SqliteCommand insert = connection.CreateCommand();
    insert.Transaction = transaction;
    insert.CommandText = "INSERT INTO orders VALUES ($id, $customer, $cents)";
    SqliteParameter id = insert.Parameters.Add("$id", SqliteType.Integer);
    SqliteParameter customer = insert.Parameters.Add("$customer", SqliteType.Text);
    SqliteParameter cents = insert.Parameters.Add("$cents", SqliteType.Integer);
    foreach (Order order in batch)
    {
        (id.Value, customer.Value, cents.Value) = (order.Id, order.Customer, (long)(order.Amount * 100));
        await insert.ExecuteNonQueryAsync();
    }

    await transaction.CommitAsync();
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

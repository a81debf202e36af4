using System.Data;
using System.Runtime.CompilerServices;
using System.Text;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>Reads the tables of a publication as they were when the slot was created: what changed after that comes from the slot.</summary>
internal sealed class SnapshotReader : IAsyncDisposable
{
    private static readonly string WithFilters = SqlFiles.Plain.Read("snapshot_columns", "filters");
    private static readonly string WithoutFilters = SqlFiles.Plain.Read("snapshot_columns", "no_filters");

    private readonly ChangeStream _stream;
    private readonly NpgsqlConnection _connection;
    private NpgsqlTransaction? _transaction;

    private SnapshotReader(ChangeStream stream, NpgsqlConnection connection)
    {
        _stream = stream;
        _connection = connection;
    }

    /// <summary>Opens a transaction that sees what the slot has exported, for as long as the connection that created the slot does nothing else.</summary>
    public static async Task<SnapshotReader> OpenAsync(
        ChangeStream stream, ServerState server, string snapshot, CancellationToken cancellationToken)
    {
        var reader = new SnapshotReader(stream, await stream.DataSource.OpenConnectionAsync(cancellationToken).ConfigureAwait(false));
        try
        {
            reader._transaction = await reader._connection.BeginTransactionAsync(IsolationLevel.RepeatableRead, cancellationToken).ConfigureAwait(false);

            // Without it, a policy of a table would leave rows out and say nothing. With it, the server refuses to read such a table.
            string settings = $"SET TRANSACTION SNAPSHOT {SqlName.Literal(snapshot)}; {ValueText.TransactionSettings}; SET LOCAL row_security = off";
            if (server.ClientEncoding is { } encoding)
            {
                settings += $"; SET LOCAL client_encoding = {encoding}";
            }

            await stream.Database.ExecuteOnAsync(reader._connection, settings, cancellationToken).ConfigureAwait(false);
            return reader;
        }
        catch
        {
            await reader.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>The tables, by name, without Weir's own.</summary>
    public async Task<IReadOnlyList<SnapshotTable>> TablesAsync(CancellationToken cancellationToken)
    {
        string query = _connection.PostgreSqlVersion.Major >= 15 ? WithFilters : WithoutFilters;
        List<SnapshotTable> tables = [];
        await _stream.Database.QueryOnAsync(
            _connection,
            query,
            row =>
            {
                var table = new SnapshotTable(
                    (uint)row.GetInt64(0), row.GetString(1), row.GetString(2), row.IsDBNull(3) ? null : row.GetString(3), row.GetBoolean(4));
                if (tables.Count == 0 || tables[^1].Oid != table.Oid)
                {
                    tables.Add(table);
                }

                tables[^1].Columns.Add((row.GetString(5), (uint)row.GetInt64(6), row.GetInt32(7), row.GetBoolean(8)));
                return true;
            },
            cancellationToken,
            Parameter.Of(_stream.Publication)).ConfigureAwait(false);
        tables.RemoveAll(static table => OwnTables.Has(table.Name, table.Columns.Select(static c => c.Name)));
        return tables;
    }

    /// <summary>The rows of a table, as texts: in the form that the replication stream has them in.</summary>
    public async IAsyncEnumerable<string?[]> ReadAsync(SnapshotTable table, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        NpgsqlCommand query = new(table.Query, _connection) { AllResultTypesAreUnknown = true, CommandTimeout = 0 };
        await using (query.ConfigureAwait(false))
        {
            NpgsqlDataReader rows = await query.ExecuteReaderAsync(cancellationToken).ConfigureAwait(false);
            await using (rows.ConfigureAwait(false))
            {
                while (await rows.ReadAsync(cancellationToken).ConfigureAwait(false))
                {
                    yield return TextsOf(rows);
                }
            }
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_transaction is not null)
        {
            await _transaction.DisposeAsync().ConfigureAwait(false);
        }

        await _connection.DisposeAsync().ConfigureAwait(false);
    }

    private static string?[] TextsOf(NpgsqlDataReader row)
    {
        string?[] texts = new string?[row.FieldCount];
        for (int i = 0; i < texts.Length; i++)
        {
            try
            {
                texts[i] = row.IsDBNull(i) ? null : row.GetString(i);
            }
            catch (DecoderFallbackException)
            {
                texts[i] = PostgresRow.Unreadable;
            }
        }

        return texts;
    }
}

/// <summary>A table of a publication, and how its rows are read.</summary>
/// <param name="Oid">The identity of the table.</param>
/// <param name="Schema">Its schema.</param>
/// <param name="Name">Its name.</param>
/// <param name="Filter">Which of its rows are published; null for all.</param>
/// <param name="IncludesPartitions">Whether the rows of its partitions are its own.</param>
internal sealed record SnapshotTable(uint Oid, string Schema, string Name, string? Filter, bool IncludesPartitions)
{
    /// <summary>The columns that are published.</summary>
    public List<(string Name, uint Type, int Modifier, bool IsKey)> Columns { get; } = [];

    public string Query
    {
        get
        {
            string columns = string.Join(", ", Columns.Select(static c => SqlName.Quote(c.Name)));
            string only = IncludesPartitions ? "" : "ONLY ";
            string where = Filter is null ? "" : $" WHERE {Filter}";
            return $"SELECT {columns} FROM {only}{SqlName.Quote(Schema)}.{SqlName.Quote(Name)}{where}";
        }
    }
}

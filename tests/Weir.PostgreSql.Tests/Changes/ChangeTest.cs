using System.Globalization;
using Npgsql;
using NpgsqlTypes;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>
/// What tests of changes on the real server share: each has a database, a publication and a slot of its own, and leaves none behind. A database, because a slot
/// that is created while others create and drop tables may run into tables that the server's decoding does not know.
/// </summary>
public abstract class ChangeTest(PostgresServer server) : IAsyncLifetime
{
    protected const int Limit = 120_000;

    private NpgsqlDataSource? _source;

    protected NpgsqlDataSource Source => _source!;

    protected string ConnectionString { get; private set; } = "";

    protected string Schema { get; } = "test \"changes\"";

    protected string Slot { get; } = $"weir_test_{Guid.NewGuid():N}";

    protected string Publication => Slot;

    protected string Table => Name("rows");

    protected ICheckpointStore Checkpoints { get; private set; } = null!;

    /// <summary>Heartbeats that do not come by themselves while a test runs.</summary>
    protected static PostgresChangeSourceOptions Quiet { get; } = new() { HeartbeatInterval = TimeSpan.FromHours(1), SlotWait = TimeSpan.FromMinutes(1) };

    public virtual async ValueTask InitializeAsync()
    {
        await server.Source.ExecuteAsync($"CREATE DATABASE {Slot} TEMPLATE template0");
        ConnectionString = new NpgsqlConnectionStringBuilder(server.ConnectionString) { Database = Slot, IncludeErrorDetail = true }.ToString();
        _source = NpgsqlDataSource.Create(ConnectionString);
        var checkpoints = new PostgresCheckpointStore(Source, Schema);
        await checkpoints.SetupAsync();
        Checkpoints = checkpoints;
        await ExecuteAsync($"CREATE TABLE {Table} (id int PRIMARY KEY, value text)");
        await ExecuteAsync($"CREATE PUBLICATION {Publication} FOR TABLE {Table}");
    }

    public virtual async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        if (_source is null)
        {
            return;
        }

        await using (PostgresChangeSource stream = Stream())
        {
            await stream.DropAsync();
        }

        await _source.DisposeAsync();
        await server.Source.ExecuteAsync($"DROP DATABASE {Slot} WITH (FORCE)");
    }

    protected string Name(string table) => $"{SqlName.Quote(Schema)}.{SqlName.Quote(table)}";

    /// <summary>A stream that is not set up.</summary>
    protected PostgresChangeSource Stream(PostgresChangeSourceOptions? options = null, ICheckpointStore? checkpoints = null) =>
        new(ConnectionString, Slot, Publication, checkpoints ?? Checkpoints, options ?? Quiet);

    protected async Task<PostgresChangeSource> NewStreamAsync(PostgresChangeSourceOptions? options = null, ICheckpointStore? checkpoints = null)
    {
        PostgresChangeSource stream = Stream(options, checkpoints);
        await stream.SetupAsync();
        return stream;
    }

    protected Task<int> ExecuteAsync(string statements) => Source.ExecuteAsync(statements);

    protected Task<T> ScalarAsync<T>(string statement) => Source.ScalarAsync<T>(statement);

    protected async Task<NpgsqlLogSequenceNumber> ConfirmedAsync() =>
        await ScalarAsync<NpgsqlLogSequenceNumber>($"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{Slot}'");

    protected static async Task<WorkBatch<T>> NextAsync<T>(IWorkSource<T> source) =>
        (await source.ReadAsync(CancellationToken.None).WithinAsync("the next batch"))!;

    /// <summary>Reads, and acknowledges at once, until there are so many changes.</summary>
    protected static async Task<List<T>> TakeAsync<T>(IWorkSource<T> source, int count, bool acknowledge = true)
    {
        List<T> changes = [];
        while (changes.Count < count)
        {
            WorkBatch<T> batch = await NextAsync(source);
            changes.AddRange(batch.Items.Select(static i => i.Value));
            if (acknowledge)
            {
                await source.AcknowledgeAsync([batch], CancellationToken.None);
            }
        }

        Assert.Equal(count, changes.Count);
        return changes;
    }

    /// <summary>A change as a short text: +1=a, 1=a, -1, or 0 for a truncate.</summary>
    protected static string Text(PostgresChange change) => change.Kind switch
    {
        PostgresChangeKind.Insert or PostgresChangeKind.Snapshot => string.Create(CultureInfo.InvariantCulture, $"+{change.New!["id"]}={change.New["value"]}"),
        PostgresChangeKind.Update => string.Create(CultureInfo.InvariantCulture, $"{change.New!["id"]}={change.New["value"]}"),
        PostgresChangeKind.Delete => string.Create(CultureInfo.InvariantCulture, $"-{change.Old!["id"]}"),
        _ => "0",
    };
}

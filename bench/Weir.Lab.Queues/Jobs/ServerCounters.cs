using System.Diagnostics;
using System.Globalization;
using Npgsql;
using Weir.Lab.Processes;
using Weir.Lab.Queues.Arms;

namespace Weir.Lab.Queues.Jobs;

/// <summary>What a server counts by itself. What it does not say is null.</summary>
/// <param name="Transactions">Transactions of the database.</param>
/// <param name="Rows">Rows that were inserted, updated or deleted in it.</param>
/// <param name="Messages">Messages that the broker has got.</param>
/// <param name="Acknowledged">Messages that were acknowledged to it.</param>
internal readonly record struct ServerCounters(long? Transactions, long? Rows, long? Messages, long? Acknowledged)
{
    // The port tells whether it is the broker that is asked for: eng/services knows its own one.
    private const string BrokerCounters =
        """
        Ports = [element(6, L) || L <- rabbit_networking:active_listeners()],
        Sum = fun(Name) -> lists:sum([maps:get(Name, C, 0) || C <- maps:values(rabbit_global_counters:overview())]) end,
        {counters, Ports, Sum(messages_received_total), Sum(messages_acknowledged_total)}.
        """;

    private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(10);

    /// <summary>
    /// Reads them, after whoever used the queue has ended. A session of PostgreSQL counts what it did when it ends, and may do so seconds later while it is idle:
    /// so those that are still open are ended.
    /// </summary>
    public static async Task<ServerCounters> ReadSettledAsync(QueueAddress address) =>
        address.IsBroker ? await ReadBrokerAsync(address) : await ReadDatabaseAsync(address);

    private static async Task<ServerCounters> ReadDatabaseAsync(QueueAddress address)
    {
        NpgsqlConnection.ClearAllPools();
        NpgsqlConnectionStringBuilder other = new(address.Server) { Database = "postgres", Pooling = false };
        string name = new NpgsqlConnectionStringBuilder(address.Server).Database!;
        await using NpgsqlConnection connection = new(other.ToString());
        await connection.OpenAsync();
        while (await ReadAsync(
            connection,
            "SELECT count(pg_terminate_backend(pid)), 0::bigint FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
            name) is (> 0, _))
        {
            await Task.Delay(Look);
        }

        (long transactions, long rows) = await ReadAsync(
            connection,
            "SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = $1",
            name);
        return new ServerCounters(transactions, rows, null, null);
    }

    private static async Task<(long First, long Second)> ReadAsync(NpgsqlConnection connection, string query, string database)
    {
        await using NpgsqlCommand command = new(query, connection) { Parameters = { new() { Value = database } } };
        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync();
        await reader.ReadAsync();
        return (reader.GetInt64(0), reader.GetInt64(1));
    }

    // Its own command tells them, without a plug-in that would cost the broker something while it is measured.
    private static async Task<ServerCounters> ReadBrokerAsync(QueueAddress address)
    {
        if (Services() is not { } services)
        {
            return default;
        }

        ChildEnd end = await ChildProgram.RunAsync(new ProcessStartInfo(services, ["rabbitmqctl", "eval", BrokerCounters]), CancellationToken.None);
        return end.Code == 0 ? ParseBroker(end.Output, address.Port) : default;
    }

    /// <summary>Reads what the broker's command has printed.</summary>
    /// <param name="output">What it printed.</param>
    /// <param name="port">The port of the broker that is asked for; another one's counters are none.</param>
    public static ServerCounters ParseBroker(string output, int port)
    {
        string[] parts = output.Split(['{', '}', '[', ']', ',', '\n', ' '], StringSplitOptions.RemoveEmptyEntries);
        if (parts is not ["counters", .. var ports, var messages, var acknowledged] || !ports.Contains(port.ToString(CultureInfo.InvariantCulture)))
        {
            return default;
        }

        return new ServerCounters(
            null, null, long.Parse(messages, CultureInfo.InvariantCulture), long.Parse(acknowledged, CultureInfo.InvariantCulture));
    }

    private static string? Services()
    {
        for (DirectoryInfo? folder = new(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            string services = Path.Combine(folder.FullName, "eng", "services");
            if (File.Exists(services))
            {
                return services;
            }
        }

        return null;
    }
}

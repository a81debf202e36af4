using System.Globalization;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>Checks whether a stream can work, before it does anything. Each message says in one sentence what is wrong and what to do.</summary>
internal sealed class Preflight(Database database, string slot, string publication)
{
    private static readonly string ServerQuery = SqlFiles.Plain.Read("stream_server");
    private static readonly string SlotQuery = SqlFiles.Plain.Read("stream_slot");
    private static readonly string TablesWithoutIdentityQuery = SqlFiles.Plain.Read("tables_without_identity");
    private static readonly string TablesToCopyQuery = SqlFiles.Plain.Read("tables_to_copy");
    private static readonly string TablesNamedAsOwnQuery = SqlFiles.Plain.Read("tables_named_as_own");

    /// <summary>Checks that a snapshot can read all rows of the tables.</summary>
    public async ValueTask CheckSnapshotAsync(CancellationToken cancellationToken)
    {
        List<(string Name, bool IsSecured, bool IsAllowed)> tables =
        [
            .. (await database.QueryAsync(
                TablesToCopyQuery,
                static r => (Name: r.GetString(0), Table: r.GetString(1), IsSecured: r.GetBoolean(2), IsAllowed: r.GetBoolean(3), r.GetFieldValue<string[]>(4)),
                cancellationToken,
                Parameter.Of(publication)).ConfigureAwait(false))
                .Where(static t => !OwnTables.Has(t.Table, t.Item5)).Select(static t => (t.Name, t.IsSecured, t.IsAllowed)),
        ];
        string forbidden = ListOf(tables.Where(static t => !t.IsAllowed).Select(static t => t.Name));
        Require(
            forbidden.Length == 0,
            $"the user of the connection lacks the right to read {forbidden}, which a snapshot needs: GRANT SELECT, and USAGE of the schema. docs/changes.md "
            + "lists the rights.");
        string secured = ListOf(tables.Where(static t => t.IsSecured).Select(static t => t.Name));
        Require(
            secured.Length == 0,
            $"row level security hides rows of {secured} from the user of the connection, so a snapshot would lack them: ALTER ROLE ... BYPASSRLS, or use a "
            + "user whom no policy concerns.");
    }

    /// <summary>The tables of the publication that are Weir's own; empty for none.</summary>
    public async ValueTask<string> OwnTablesAsync(CancellationToken cancellationToken) => ListOf(
        (await database.QueryAsync(
            TablesNamedAsOwnQuery,
            static r => (Name: r.GetString(0), Table: r.GetString(1), Columns: r.GetFieldValue<string[]>(2)),
            cancellationToken,
            Parameter.Of(publication),
            Parameter.Of(OwnTables.Beginnings)).ConfigureAwait(false))
            .Where(static t => OwnTables.Has(t.Table, t.Columns)).Select(static t => t.Name));

    /// <summary>Checks the server and the publication.</summary>
    public async ValueTask<ServerState> CheckServerAsync(CancellationToken cancellationToken)
    {
        (int version, bool isStandby, string level, string end, int timeout, string name, string encoding) = (await database.QueryAsync(
            ServerQuery,
            static r => (r.GetInt32(0), r.GetBoolean(1), r.GetString(2), r.GetString(3), r.GetInt32(4), r.GetString(5), r.GetString(6)),
            cancellationToken).ConfigureAwait(false))[0];
        Require(version >= 140_000, "the server is older than PostgreSQL 14: use a newer one.");
        Require(!isStandby, "the server is a standby: connect to the primary.");
        Require(level == "logical", $"wal_level is '{level}': set wal_level = logical in postgresql.conf, and restart the server.");
        Require(
            await HasPublicationAsync(cancellationToken).ConfigureAwait(false),
            $"database '{name}' has no publication '{publication}': CREATE PUBLICATION {SqlName.Quote(publication)} FOR TABLE ..., "
            + "before the slot is created.");
        List<string> without = await database.QueryAsync(
            TablesWithoutIdentityQuery, static r => r.GetString(0), cancellationToken, Parameter.Of(publication)).ConfigureAwait(false);
        Require(
            without.Count == 0,
            $"updates and deletes of {string.Join(", ", without)} are published, and fail, because there is no replica identity: add a primary key, or "
            + $"ALTER TABLE ... REPLICA IDENTITY FULL, or ALTER PUBLICATION {SqlName.Quote(publication)} SET (publish = 'insert, truncate').");
        return new ServerState(name, (ulong)NpgsqlLogSequenceNumber.Parse(end), TimeSpan.FromMilliseconds(timeout), encoding);
    }

    public async ValueTask<bool> HasPublicationAsync(CancellationToken cancellationToken) => (await database.QueryAsync(
        "SELECT true FROM pg_catalog.pg_publication WHERE pubname = $1", static r => r.GetBoolean(0), cancellationToken, Parameter.Of(publication))
        .ConfigureAwait(false)).Count > 0;

    /// <summary>Looks for the slot.</summary>
    /// <returns>The slot; null if there is none.</returns>
    /// <exception cref="WorkSetupException">It is not a slot for this stream, or it is lost.</exception>
    public async ValueTask<SlotState?> FindSlotAsync(ServerState server, CancellationToken cancellationToken)
    {
        List<SlotState> found = await database.QueryAsync(
            SlotQuery,
            static r => new SlotState(
                r.IsDBNull(0) ? null : r.GetString(0),
                r.IsDBNull(1) ? null : r.GetString(1),
                r.GetBoolean(2),
                r.GetBoolean(3),
                r.IsDBNull(4) ? null : r.GetString(4),
                (ulong)NpgsqlLogSequenceNumber.Parse(r.GetString(5))),
            cancellationToken,
            Parameter.Of(slot)).ConfigureAwait(false);
        if (found.Count == 0)
        {
            return null;
        }

        SlotState state = found[0];
        Require(state.Plugin is not null, $"slot '{slot}' is a physical slot: give the stream a name of its own.");
        Require(state.Plugin == "pgoutput", $"slot '{slot}' has the plugin '{state.Plugin}', not pgoutput: give the stream a name of its own.");
        Require(
            state.Database == server.Database, $"slot '{slot}' belongs to database '{state.Database}', and this is '{server.Database}': connect to that one.");
        Require(!state.IsTemporary, $"slot '{slot}' is temporary and ends with the session that created it: give the stream a name of its own.");
        Require(
            state.WalStatus != "lost",
            $"the server has removed the log that slot '{slot}' needs (max_slot_wal_keep_size), so changes are lost: call DropAsync, then SetupAsync with a "
            + "snapshot.");
        return state;
    }

    /// <summary>Compares the position of the stream with what the slot still has.</summary>
    public void CheckPosition(ServerState server, SlotState? state, ChangePosition? checkpoint, string name)
    {
        Require(
            state is not null || checkpoint is not null, $"there is neither slot '{slot}' nor checkpoint '{name}': call SetupAsync once, which creates them.");
        if (checkpoint is not { IsSnapshot: false } position)
        {
            return;
        }

        string at = new NpgsqlLogSequenceNumber(position.Lsn).ToString();
        Require(
            state is not null,
            $"slot '{slot}' is gone, though the stream was processed up to {at}, so changes since then may be lost: call DropAsync, then SetupAsync with a "
            + "snapshot.");
        Require(
            position.Lsn <= server.WalEnd,
            $"checkpoint '{name}' is at {at}, and the server's log ends at {new NpgsqlLogSequenceNumber(server.WalEnd)}: this is not the server that the "
            + "checkpoint is of, or it was restored from a backup. Connect to the right one, or call DropAsync, then SetupAsync with a snapshot.");
        Require(
            position.Lsn >= state!.Confirmed,
            $"slot '{slot}' has moved on to {new NpgsqlLogSequenceNumber(state.Confirmed)}, past checkpoint '{name}' at {at}, so the changes in between are "
            + "gone: somebody else has used the slot, or the checkpoint is old. Call DropAsync, then SetupAsync with a snapshot.");
    }

    private static string ListOf(IEnumerable<string> names)
    {
        const int most = 10;
        string[] all = [.. names];
        string more = all.Length > most ? string.Create(CultureInfo.InvariantCulture, $" and {all.Length - most} more") : "";
        return string.Join(", ", all.Take(most)) + more;
    }

    private void Require(bool condition, string otherwise)
    {
        if (!condition)
        {
            throw new WorkSetupException($"{char.ToUpperInvariant(database.What[0])}{database.What[1..]} cannot be read: {otherwise}");
        }
    }
}

/// <summary>What a stream needs to know about the server.</summary>
/// <param name="Database">The database of the connection.</param>
/// <param name="WalEnd">Where the write-ahead log ends.</param>
/// <param name="SenderTimeout">How long the server waits for a sign of life; zero for ever.</param>
/// <param name="Encoding">The encoding of the database.</param>
internal sealed record ServerState(string Database, ulong WalEnd, TimeSpan SenderTimeout, string Encoding)
{
    /// <summary>
    /// In which encoding it sends texts, if not in UTF-8. A database without an encoding has bytes of any: asked for UTF-8, the server would end the stream at
    /// the first text that is something else.
    /// </summary>
    public string? ClientEncoding => Encoding == "SQL_ASCII" ? Encoding : null;
}

/// <summary>A replication slot, as the server describes it.</summary>
/// <param name="Plugin">What decodes; null for a physical slot.</param>
/// <param name="Database">The database that it belongs to.</param>
/// <param name="IsTemporary">Whether it ends with the session that created it.</param>
/// <param name="IsActive">Whether somebody reads from it.</param>
/// <param name="WalStatus">Whether the server still has what the slot needs.</param>
/// <param name="Confirmed">The server has given up everything before this position.</param>
internal sealed record SlotState(string? Plugin, string? Database, bool IsTemporary, bool IsActive, string? WalStatus, ulong Confirmed);

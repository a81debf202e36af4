using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>Checks whether a stream can work, before it does anything. Each message says in one sentence what is wrong and what to do.</summary>
internal sealed class Preflight(Database database, string slot, string publication)
{
    private const string ServerQuery = """
        SELECT current_setting('server_version_num')::int, pg_catalog.pg_is_in_recovery(), current_setting('wal_level'),
            CASE WHEN pg_catalog.pg_is_in_recovery() THEN '0/0' ELSE pg_catalog.pg_current_wal_flush_lsn()::text END,
            (SELECT setting::int FROM pg_catalog.pg_settings WHERE name = 'wal_sender_timeout'), current_database()::text,
            current_setting('server_encoding')
        """;

    private const string SlotQuery = """
        SELECT plugin::text, database::text, temporary, active, wal_status, coalesce(confirmed_flush_lsn, '0/0')::text
        FROM pg_catalog.pg_replication_slots WHERE slot_name = $1
        """;

    // The partitions of a table that is published as a whole have identities of their own.
    private const string IdentityQuery = """
        SELECT format('%I.%I', n.nspname, c.relname)
        FROM pg_catalog.pg_publication p
        JOIN pg_catalog.pg_publication_tables pt ON pt.pubname = p.pubname
        JOIN pg_catalog.pg_namespace rn ON rn.nspname = pt.schemaname
        JOIN pg_catalog.pg_class r ON r.relnamespace = rn.oid AND r.relname = pt.tablename
        CROSS JOIN LATERAL (
            SELECT t.relid::oid AS oid FROM pg_catalog.pg_partition_tree(r.oid) t WHERE t.isleaf UNION SELECT r.oid WHERE r.relkind <> 'p') leaf
        JOIN pg_catalog.pg_class c ON c.oid = leaf.oid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE p.pubname = $1 AND (p.pubupdate OR p.pubdelete) AND (c.relreplident = 'n'
            OR c.relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
            OR c.relreplident = 'i' AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisreplident))
        ORDER BY 1 LIMIT 10
        """;

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
        List<string> without = await database.QueryAsync(IdentityQuery, static r => r.GetString(0), cancellationToken, Parameter.Of(publication))
            .ConfigureAwait(false);
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

    private void Require(bool condition, string otherwise)
    {
        if (!condition)
        {
            throw new WorkSetupException($"{char.ToUpperInvariant(database.What[0])}{database.What[1..]} cannot be read: {otherwise}");
        }
    }
}

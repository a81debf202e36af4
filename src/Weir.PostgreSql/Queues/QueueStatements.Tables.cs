namespace Weir.PostgreSql;

/// <content>The statements that make the tables.</content>
internal sealed partial class QueueStatements
{
    /// <summary>
    /// The statements that create the tables. Rows live for seconds and the table is often empty, so it is vacuumed by count and not by share.
    /// </summary>
    public IEnumerable<string> Tables()
    {
        yield return $"""
            CREATE TABLE IF NOT EXISTS {_consumers} (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, host text NOT NULL, lease_until timestamptz NOT NULL)
            WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
            """;
        yield return $"""
            CREATE TABLE IF NOT EXISTS {_dead} (
                number bigint GENERATED ALWAYS AS IDENTITY, queue text NOT NULL, id text NOT NULL, source text NOT NULL, reason text NOT NULL,
                error text NOT NULL, attempts integer NOT NULL, time timestamptz NOT NULL, key text, headers text, payload bytea NOT NULL,
                PRIMARY KEY (queue, id), UNIQUE (queue, number))
            """;
        yield return $"""
            CREATE TABLE IF NOT EXISTS {_published} (
                queue text NOT NULL, origin text NOT NULL, places int8multirange NOT NULL, added int8multirange NOT NULL, time timestamptz NOT NULL,
                PRIMARY KEY (queue, origin))
            WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0)
            """;
        yield return $"CREATE INDEX IF NOT EXISTS published_time ON {_published} (queue, time)";
        yield return $"""
            CREATE TABLE {_items} (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, due timestamptz NOT NULL DEFAULT now(), consumer bigint,
                delivery integer NOT NULL DEFAULT 0, attempt integer NOT NULL DEFAULT 1, expired integer NOT NULL DEFAULT 0,
                band bigint, place integer NOT NULL DEFAULT 0, head boolean NOT NULL DEFAULT false, origin text NOT NULL, key text, headers text,
                payload bytea NOT NULL)
            WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0,
                autovacuum_vacuum_insert_threshold = 100000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
                autovacuum_vacuum_cost_delay = 0)
            """;
        yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired = 0";
        yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired > 0";
        yield return $"CREATE INDEX ON {_items} (consumer) WHERE consumer IS NOT NULL";
        yield return $"CREATE INDEX ON {_items} (expired, delivery, id) WHERE consumer IS NULL AND expired > 0";
        yield return $"CREATE INDEX ON {_items} (band, id) WHERE consumer IS NULL AND expired > 0";
        if (_isKeyed)
        {
            yield return $"CREATE INDEX ON {_items} (key, id) WHERE key IS NOT NULL";
            yield return $"CREATE INDEX ON {_items} (key, id) WHERE key IS NOT NULL AND consumer IS NOT NULL";
            yield return $"CREATE UNIQUE INDEX ON {_items} (key) WHERE head";
            yield return $"CREATE INDEX ON {_items} (due, id) WHERE consumer IS NULL AND expired = 0 AND key IS NULL";
        }

        foreach (string statement in Packs())
        {
            yield return statement;
        }
    }

    /// <summary>The statements that make tables of a version into those of the next one. Who may use the table of items may use that of packs.</summary>
    public IEnumerable<string> Upgrade(int from) => from != 3 || _isKeyed ? [] :
    [
        .. Packs(),
        $"DO {SqlName.Literal($"""
            DECLARE g record;
            BEGIN
                FOR g IN SELECT a.privilege_type AS may, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS who
                    FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE c.oid = {SqlName.Literal(_items)}::regclass AND a.grantee <> c.relowner
                LOOP
                    EXECUTE 'GRANT ' || g.may || ' ON ' || {SqlName.Literal(_packs)} || ' TO ' || g.who;
                END LOOP;
            END
            """)}",
    ];

    // Numbers below zero, so that those of rows and packs can stand in one list. Values are not compressed: that would take longer than writing them.
    private string[] Packs() => _isKeyed ? [] :
    [
        $"""
        CREATE TABLE {_packs} (
            id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY -1) PRIMARY KEY, due timestamptz NOT NULL, consumer bigint,
            delivery integer NOT NULL DEFAULT 0, size integer NOT NULL, origins text[] NOT NULL, places integer[] NOT NULL, keys text[] NOT NULL,
            attempts integer[] NOT NULL, headers text[] NOT NULL, payloads bytea[] NOT NULL)
        WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
            toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_cost_delay = 0)
        """,
        $"ALTER TABLE {_packs} ALTER payloads SET STORAGE EXTERNAL",
        $"CREATE INDEX ON {_packs} (due, id DESC) WHERE consumer IS NULL",
        $"CREATE INDEX ON {_packs} (consumer) WHERE consumer IS NOT NULL",
    ];
}

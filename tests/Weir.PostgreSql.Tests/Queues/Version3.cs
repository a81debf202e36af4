namespace Weir.PostgreSql.Tests.Queues;

/// <summary>The tables of version 3, and what programs of that version do.</summary>
internal static class Version3
{
    public static IEnumerable<string> Tables(string schema, string items) =>
    [
        $"CREATE SCHEMA {schema}",
        $"CREATE TABLE {schema}.parts (part text PRIMARY KEY, version integer NOT NULL, settings text NOT NULL, revision integer)",
        $"""
        CREATE TABLE {schema}.consumers (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, host text NOT NULL, lease_until timestamptz NOT NULL)
        """,
        $"""
        CREATE TABLE {schema}.dead_letters (
            number bigint GENERATED ALWAYS AS IDENTITY, queue text NOT NULL, id text NOT NULL, source text NOT NULL, reason text NOT NULL,
            error text NOT NULL, attempts integer NOT NULL, time timestamptz NOT NULL, key text, headers text, payload bytea NOT NULL,
            PRIMARY KEY (queue, id), UNIQUE (queue, number))
        """,
        $"""
        CREATE TABLE {schema}.published (
            queue text NOT NULL, origin text NOT NULL, places int8multirange NOT NULL, added int8multirange NOT NULL, time timestamptz NOT NULL,
            PRIMARY KEY (queue, origin))
        """,
        $"""
        CREATE TABLE {items} (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, due timestamptz NOT NULL DEFAULT now(), consumer bigint,
            delivery integer NOT NULL DEFAULT 0, attempt integer NOT NULL DEFAULT 1, expired integer NOT NULL DEFAULT 0,
            band bigint, place integer NOT NULL DEFAULT 0, head boolean NOT NULL DEFAULT false, origin text NOT NULL, key text, headers text,
            payload bytea NOT NULL)
        """,
        $"CREATE INDEX ON {items} (due, id) WHERE consumer IS NULL AND expired = 0",
        $"CREATE INDEX ON {items} (due, id) WHERE consumer IS NULL AND expired > 0",
        $"CREATE INDEX ON {items} (consumer) WHERE consumer IS NOT NULL",
        $"CREATE INDEX ON {items} (expired, delivery, id) WHERE consumer IS NULL AND expired > 0",
        $"CREATE INDEX ON {items} (band, id) WHERE consumer IS NULL AND expired > 0",
        $"INSERT INTO {schema}.parts VALUES ('queue work', 2, 'no key order', 3)",
    ];

    /// <summary>Takes the rows that are free.</summary>
    public static string Take(string items, long consumer) => $"""
        WITH picked AS MATERIALIZED (
            SELECT c.id FROM {items} c WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now() ORDER BY c.due, c.id LIMIT 256 FOR UPDATE OF c SKIP LOCKED)
        UPDATE {items} t SET consumer = {consumer}, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id RETURNING t.id
        """;

    /// <summary>Frees what consumers that have disappeared had, one band for each of them.</summary>
    public static string Reap(string schema, string items) => $"""
        UPDATE {items} t SET consumer = NULL, band = b.band, expired = greatest(1, t.expired + CASE WHEN b.held = 1 THEN 1 ELSE 0 END)
        FROM (SELECT id, count(*) OVER holder AS held, min(id) OVER holder AS band FROM {items}
            WHERE consumer IS NOT NULL AND consumer NOT IN (SELECT id FROM {schema}.consumers WHERE queue = 'work' AND lease_until >= now())
            WINDOW holder AS (PARTITION BY consumer)) b
        WHERE t.id = b.id
        """;
}

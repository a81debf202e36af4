namespace Weir.PostgreSql;

/// <content>The statements that enqueue items.</content>
internal sealed partial class QueueStatements
{
    // A row for each origin says which of its items were published before. The transaction that inserts the row first makes others wait until it commits or
    // rolls back. What they find then, and not what they saw before, decides which items are new.
    private string EnqueueNew() => $"""
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS u(origin, place, key, attempt, headers, payload, number)),
        known AS (
            INSERT INTO {_published} AS p (queue, origin, places, added, time)
            SELECT {_queue}, g.origin, g.places, g.places, clock_timestamp()
            FROM (SELECT origin, range_agg(int8range(place, place, '[]')) AS places FROM given GROUP BY origin ORDER BY origin) g
            ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.places - p.places, places = p.places + excluded.places, time = excluded.time
            RETURNING p.origin, p.added),
        decided AS MATERIALIZED (SELECT g.*, k.added @> g.place::bigint AS is_new FROM given g JOIN known k ON k.origin = g.origin),
        added AS (
            INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
            SELECT origin, place, key, attempt, headers, payload, now() + $7 FROM decided WHERE is_new ORDER BY number)
        SELECT (number - 1)::int FROM decided WHERE NOT is_new
        """;

    private string EnqueueAll() => $"""
        INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
        SELECT origin, place, key, attempt, headers, payload, now() + $7
        FROM unnest($1, $2, $3, $4, $5, $6) AS u(origin, place, key, attempt, headers, payload)
        """;

    // The same with the places of each origin already together ($8 and $9). Only if some were enqueued before, the items are looked at one by one.
    private string EnqueueNewPack() => $"""
        WITH given AS MATERIALIZED (SELECT origin, places::int8multirange AS places FROM unnest($8, $9) AS u(origin, places)),
        known AS (
            INSERT INTO {_published} AS p (queue, origin, places, added, time)
            SELECT {_queue}, origin, places, places, clock_timestamp() FROM given ORDER BY origin
            ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.places - p.places, places = p.places + excluded.places, time = excluded.time
            RETURNING p.origin, p.added),
        mixed AS MATERIALIZED (SELECT EXISTS (SELECT FROM given g JOIN known k ON k.origin = g.origin WHERE k.added <> g.places) AS yes),
        pack AS ({InsertPack} WHERE NOT (SELECT yes FROM mixed)),
        decided AS MATERIALIZED (
            SELECT i.*, k.added @> i.place::bigint AS is_new
            FROM (SELECT {Nth("$1")} AS origin, u.place, {Nth("$3")} AS key, {Nth("$4")} AS attempt, {Nth("$5")} AS headers, u.payload, u.number
                FROM unnest($2, $6) WITH ORDINALITY AS u(place, payload, number) WHERE (SELECT yes FROM mixed)) i
            JOIN known k ON k.origin = i.origin),
        added AS (
            INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
            SELECT origin, place, key, attempt, headers, payload, now() + $7 FROM decided WHERE is_new ORDER BY number)
        SELECT (number - 1)::int FROM decided WHERE NOT is_new
        """;

    // Of one origin ($1 has it, $8 all places). Whoever has enqueued one of the places is waited for, and then nothing is changed. Most calls end here, so
    // this is short: a statement is planned each time, and planning the long one took three times as long as running it.
    private string Fresh(string rows) => $"""
        WITH known AS (
            INSERT INTO {_published} AS p (queue, origin, places, added, time)
            VALUES ({_queue}, ($1)[1], $8::int8multirange, $8::int8multirange, clock_timestamp())
            ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.added, places = p.places + excluded.places, time = excluded.time
            WHERE NOT p.places && excluded.places RETURNING 1)
        {rows}
        """;

    private string EnqueueFreshRows() => Fresh($"""
        INSERT INTO {_items} (origin, place, key, attempt, headers, payload, due)
        SELECT u.origin, u.place, u.key, u.attempt, u.headers, u.payload, now() + $7
        FROM known CROSS JOIN unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS u(origin, place, key, attempt, headers, payload, number) ORDER BY u.number
        """);

    private string InsertPack => $"""
        INSERT INTO {_packs} (due, size, origins, places, keys, attempts, headers, payloads)
        SELECT now() + $7, cardinality($2), $1, $2, $3, $4, $5, $6
        """;

    private string ForgetOld() => $"""
        DELETE FROM {_published} WHERE queue = {_queue} AND origin IN (
            SELECT origin FROM {_published} WHERE queue = {_queue} AND time < clock_timestamp() - $1 ORDER BY time LIMIT {Forgotten} FOR UPDATE SKIP LOCKED)
        """;
}

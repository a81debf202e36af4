namespace Weir.PostgreSql;

/// <content>The statements that take rows.</content>
internal sealed partial class QueueStatements
{
    // How many items a take looks at for each one that it has room for, in all keys together. The more, the more of the room a key gets that has many items
    // beside keys that have few.
    private const int Looks = 4;

    // The items of a key in order: nobody has one of them, and none is before it.
    private string FirstOfItsKey(string row) => $"""
        ({row}.key IS NULL OR (({FirstOf("e.id", $"{row}.key", "")}) = {row}.id
            AND ({FirstOf("e.id", $"{row}.key", " AND e.consumer IS NOT NULL")}) IS NULL))
        """;

    // Never "key = ... ORDER BY id": where most rows have the same key, that is planned as a search through all rows in the order of their ids.
    private string FirstOf(string columns, string key, string and) =>
        $"SELECT {columns} FROM {_items} e WHERE e.key >= {key} AND e.key <= {key}{and} ORDER BY e.key, e.id LIMIT 1";

    private string TakeAny(int most, string row) => $"""
        WITH picked AS MATERIALIZED (
            SELECT c.id FROM {_items} c WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now()
            ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED)
        UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id RETURNING {row}
        """;

    // The band of the suspect that was taken the fewest times, so that one which kills processes holds nobody up. Two sources that look at the same moment may
    // share a band. A row that a program of the version before has made suspect has no band: it is one by itself.
    private string TakeBand(int most, string row)
    {
        string inTurn = _isKeyed ? $" AND {FirstOfItsKey("c")}" : "";
        return $"""
            WITH front AS MATERIALIZED (
                SELECT c.id, c.band, c.expired FROM {_items} c WHERE {Suspect("c")}{inTurn}
                ORDER BY c.expired, c.delivery, c.id LIMIT 1 FOR UPDATE OF c SKIP LOCKED),
            others AS MATERIALIZED (
                SELECT c.id FROM {_items} c JOIN front f ON c.band = f.band AND c.expired = f.expired AND c.id <> f.id WHERE {Suspect("c")}{inTurn}
                ORDER BY c.id LIMIT {most - 1} FOR UPDATE OF c SKIP LOCKED),
            picked AS (SELECT id FROM front UNION ALL SELECT id FROM others)
            UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1{(_isKeyed ? ", head = t.key IS NOT NULL" : "")}
            FROM picked WHERE t.id = picked.id RETURNING {row}
            """;
    }

    private static string Suspect(string row) => $"{row}.consumer IS NULL AND {row}.expired > 0 AND {row}.due <= now()";

    // The first items of their keys among the rows that are due for longest. It looks at a bounded number of rows, however many of a blocked key lie there.
    // The conditions on the locked row are written so that no index of free rows fits: PostgreSQL can then only look it up by its id.
    private string InFront(int front, int most) => $"""
        SELECT c.id, c.key FROM (
            SELECT f.id FROM (SELECT id, key FROM {_items} WHERE {Free} ORDER BY due, id LIMIT {front}) f WHERE {FirstOfItsKey("f")}) g
        JOIN {_items} c ON c.id = g.id WHERE {StillFree} LIMIT {most} FOR UPDATE OF c SKIP LOCKED
        """;

    private string Named(int most) => $"""
        SELECT c.id, c.key FROM {_items} c WHERE c.id = ANY ($2) AND {StillFree} AND c.due <= now() AND {FirstOfItsKey("c")}
        ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED
        """;

    // Goes from key to key, however many rows each has.
    private string Keys(string where, int most) => $"""
        WITH RECURSIVE walk(key) AS (
            (SELECT i.key FROM {_items} i WHERE {where} ORDER BY i.key LIMIT 1)
            UNION ALL
            SELECT (SELECT i.key FROM {_items} i WHERE i.key > w.key ORDER BY i.key LIMIT 1) FROM walk w WHERE w.key IS NOT NULL),
        keys AS MATERIALIZED (SELECT key FROM walk WHERE key IS NOT NULL LIMIT {most})
        SELECT ARRAY (
                SELECT c.id FROM keys k CROSS JOIN LATERAL ({FirstOf("e.id, e.consumer, e.expired, e.due", "k.key", "")}) c
                WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now()
                UNION ALL (SELECT id FROM {_items} WHERE {Free} AND key IS NULL ORDER BY due, id LIMIT {most})),
            (SELECT max(key) FROM keys), (SELECT count(*) FROM keys)
        """;

    // After the first item of a key, the items that follow it without a gap. They are in one batch, so the host keeps their order. The keys share the room: if
    // one took it all, its items would run one after the other, and the first items of the other keys, which end with the same batch, would wait for them.
    private string TakeKeyed(string heads, int most, string row) => $"""
        WITH heads AS MATERIALIZED (
            {heads}),
        picked AS MATERIALIZED (
            SELECT id, key IS NOT NULL AS head FROM heads
            UNION ALL (
                SELECT f.id, false FROM heads h CROSS JOIN LATERAL (
                    SELECT g.id, bool_and(g.consumer IS NULL AND g.expired = 0 AND g.due <= now()) OVER (ORDER BY g.id) AS is_next,
                        row_number() OVER (ORDER BY g.id) AS place
                    FROM (
                        SELECT i.id, i.consumer, i.expired, i.due FROM {_items} i
                        WHERE (i.key, i.id) > (h.key, h.id) AND i.key <= h.key ORDER BY i.key, i.id
                        LIMIT (SELECT least({most}, {Looks} * {most} / greatest(1, count(*))) FROM heads)) g) f
                WHERE f.is_next ORDER BY f.place, f.id LIMIT greatest(0, {most} - (SELECT count(*) FROM heads))))
        UPDATE {_items} t SET consumer = $1, delivery = t.delivery + 1, head = picked.head
        FROM picked WHERE t.id = picked.id AND t.consumer IS NULL RETURNING {row}
        """;

    private string NextKeyedDue(int front) => $"""
        SELECT extract(epoch FROM min(due) - now())::float8, EXISTS (SELECT FROM {_items} WHERE {Free} ORDER BY due, id OFFSET {front - 1})
        FROM {_items} WHERE consumer IS NULL AND expired = 0 AND due > now()
        """;
}

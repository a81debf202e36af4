namespace Weir.PostgreSql;

/// <content>The statements that look at what is in the queue, and cancel it.</content>
internal sealed partial class QueueStatements
{
    private const string ItemColumns = "id, origin, place, key, attempt, due, consumer IS NOT NULL, headers, payload";

    private static string PackedColumns => $"""
        p.id, {Nth("p.origins")}, u.place, {Nth("p.keys")}, {Nth("p.attempts")}, p.due, p.consumer IS NOT NULL, {Nth("p.headers")}, u.payload
        """;

    private string ListOfPack() => $"""
        SELECT {PackedColumns} FROM (SELECT * FROM {_packs} WHERE id < $1 ORDER BY id DESC LIMIT 1) p CROSS JOIN LATERAL {ItemsOf("p")}
        ORDER BY u.number LIMIT $2
        """;

    private string FindOne()
    {
        string row = $"(SELECT {ItemColumns} FROM {_items} WHERE origin = $1 AND place = $2 ORDER BY id LIMIT 1)";
        return _isKeyed ? row : $"""
            {row}
            UNION ALL
            (SELECT {PackedColumns} FROM (SELECT * FROM {_packs} WHERE $1 = ANY (origins) AND $2 = ANY (places)) p CROSS JOIN LATERAL {ItemsOf("p")}
            WHERE {Nth("p.origins")} = $1 AND u.place = $2 LIMIT 1)
            LIMIT 1
            """;
    }

    private string CancelRows() => $"""
        WITH gone AS (DELETE FROM {_items} t USING (SELECT DISTINCT * FROM unnest($1, $2) AS u(origin, place)) g
            WHERE t.origin = g.origin AND t.place = g.place AND t.consumer IS NULL RETURNING 1) {_notify}, (SELECT count(*) FROM gone)
        """;

    // Each count is of a partial index, so that neither values nor rows of others are read. The first by time is looked up, and not searched for.
    private string CountAll()
    {
        string free = "consumer IS NULL AND expired = 0";
        string suspect = "consumer IS NULL AND expired > 0";
        string first = "AND due <= now() ORDER BY due, id LIMIT 1";
        string packs = _isKeyed ? "(SELECT 0 AS waiting, 0 AS scheduled, 0 AS held, NULL::timestamptz AS due)" : $"""
            (SELECT coalesce(sum(size) FILTER (WHERE consumer IS NULL AND due <= now()), 0)::bigint AS waiting,
                coalesce(sum(size) FILTER (WHERE consumer IS NULL AND due > now()), 0)::bigint AS scheduled,
                coalesce(sum(size) FILTER (WHERE consumer IS NOT NULL), 0)::bigint AS held,
                min(due) FILTER (WHERE consumer IS NULL AND due <= now()) AS due FROM {_packs})
            """;
        return $"""
            SELECT p.waiting + (SELECT count(*) FROM {_items} WHERE {free} AND due <= now())
                    + (SELECT count(*) FROM {_items} WHERE {suspect} AND due <= now()),
                p.scheduled + (SELECT count(*) FROM {_items} WHERE {free} AND due > now())
                    + (SELECT count(*) FROM {_items} WHERE {suspect} AND due > now()),
                p.held + (SELECT count(*) FROM {_items} WHERE consumer IS NOT NULL),
                coalesce(extract(epoch FROM now() - least(p.due,
                    (SELECT due FROM {_items} WHERE {free} {first}), (SELECT due FROM {_items} WHERE {suspect} {first})))::float8, 0),
                (SELECT count(*) FROM {_dead} WHERE queue = {_queue})
            FROM {packs} p
            """;
    }
}

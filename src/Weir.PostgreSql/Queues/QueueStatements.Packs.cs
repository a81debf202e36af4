using System.Globalization;

namespace Weir.PostgreSql;

/// <content>The statements that take packs, and make rows of them where an item has to be told from the others.</content>
internal sealed partial class QueueStatements
{
    /// <summary>How many items have to be enqueued together to become a pack.</summary>
    public const int MinPack = 8;

    // Where consumers take fewer items at once, packs are so short that they cost more than they save.
    private const int WorthPacking = 64;

    // An array whose elements are all alike has one.
    private static string Nth(string array) => $"({array})[least(u.number, cardinality({array}))::int]";

    private static string ItemsOf(string pack) => $"unnest({pack}.places, {pack}.payloads) WITH ORDINALITY AS u(place, payload, number)";

    // The first pack, and those after it that one batch has room for.
    private string TakePackRows(int most, string and)
    {
        string free = string.Create(CultureInfo.InvariantCulture, $"consumer IS NULL AND due <= now() AND size <= {most}");
        return $"""
            WITH front AS MATERIALIZED (
                SELECT c.id, c.due, c.size FROM {_packs} c WHERE {free}{and} ORDER BY c.due, c.id DESC LIMIT 1 FOR UPDATE OF c SKIP LOCKED),
            others AS MATERIALIZED (
                SELECT c.id FROM {_packs} c WHERE c.consumer IS NULL AND c.id IN (
                    SELECT n.id FROM front f CROSS JOIN LATERAL (
                        SELECT p.id, f.size + sum(p.size) OVER (ORDER BY p.due, p.id DESC) AS total FROM (
                            SELECT id, due, size FROM {_packs} WHERE {free} AND due >= f.due AND id <> f.id
                            ORDER BY due, id DESC LIMIT ({most} - f.size) / {MinPack}) p) n
                    WHERE n.total <= {most})
                FOR UPDATE OF c SKIP LOCKED),
            picked AS (SELECT id FROM front UNION ALL SELECT id FROM others)
            UPDATE {_packs} t SET consumer = $1, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id
            RETURNING t.id, t.delivery, t.origins, t.places, t.keys, t.attempts, t.headers, t.payloads
            """;
    }

    private string NextItemOrPackDue(int most) => $"""
        SELECT extract(epoch FROM least(
                (SELECT min(due) FROM {_items} WHERE consumer IS NULL AND expired = 0 AND due > now()),
                (SELECT min(due) FROM {_packs} WHERE consumer IS NULL AND due > now())) - now())::float8,
            EXISTS (SELECT FROM {_packs} WHERE consumer IS NULL AND size > {most} AND due <= now())
        """;

    // The band of the rows is the pack, until somebody decides about them as suspects.
    private string Open(string which, string consumer, string others = "") => $"""
        WITH opened AS (DELETE FROM {_packs} WHERE id IN (SELECT id FROM {_packs} WHERE {which}) RETURNING *),
        added AS (
            INSERT INTO {_items} (due, consumer, delivery, band, origin, place, key, attempt, headers, payload)
            SELECT p.due, {consumer}, p.delivery, p.id, {Nth("p.origins")}, u.place, {Nth("p.keys")}, {Nth("p.attempts")}, {Nth("p.headers")}, u.payload
            FROM opened p CROSS JOIN LATERAL {ItemsOf("p")} ORDER BY p.id DESC, u.number RETURNING id)
        SELECT id FROM added{others} ORDER BY id
        """;

    // Under a number that no consumer has: one that renews its lease at this very moment has lost them all the same.
    private string OpenLost() => Open(
        $"""
        consumer IS NOT NULL AND consumer NOT IN (SELECT c.id FROM {_consumers} c WHERE c.queue = {_queue} AND c.lease_until >= now())
        FOR UPDATE SKIP LOCKED
        """,
        "-p.consumer");

    private string OpenHeld() => Open(
        "id = $1 AND delivery = $2 AND consumer = $3 FOR UPDATE", "p.consumer", $" UNION ALL SELECT id FROM {_items} WHERE consumer = $3 AND band = $1");

    private string OpenNamed() => Open(
        """
        consumer IS NULL AND EXISTS (SELECT FROM unnest($1, $2) AS g(origin, place) WHERE g.place = ANY (places) AND g.origin = ANY (origins))
        FOR UPDATE SKIP LOCKED
        """,
        "p.consumer");
}

-- Takes the items whose rows are $2, if each is still the first of its key, and the items that follow each of them without a gap, under the lease $1. The rows
-- were found by find_heads, behind the rows that take_in_key_order looks at.
-- Locks: as take_in_key_order.
WITH heads AS MATERIALIZED (
    SELECT c.id, c.key FROM {items} c WHERE c.id = ANY ($2) AND coalesce(c.consumer, 0) = 0 AND c.expired < 1 AND c.due <= now()
        AND (c.key IS NULL OR (
            (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key ORDER BY e.key, e.id LIMIT 1) = c.id
            AND (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key AND e.consumer IS NOT NULL ORDER BY e.key, e.id LIMIT 1)
                IS NULL))
    ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED),
picked AS MATERIALIZED (
    SELECT id, key IS NOT NULL AS head FROM heads
    UNION ALL (
        SELECT f.id, false FROM heads h CROSS JOIN LATERAL (
            SELECT g.id, bool_and(g.consumer IS NULL AND g.expired = 0 AND g.due <= now()) OVER (ORDER BY g.id) AS is_next,
                row_number() OVER (ORDER BY g.id) AS place
            FROM (
                SELECT i.id, i.consumer, i.expired, i.due FROM {items} i
                WHERE (i.key, i.id) > (h.key, h.id) AND i.key <= h.key ORDER BY i.key, i.id
                LIMIT (SELECT least({most}, 4 * {most} / greatest(1, count(*))) FROM heads)) g) f
        WHERE f.is_next ORDER BY f.place, f.id LIMIT greatest(0, {most} - (SELECT count(*) FROM heads))))
UPDATE {items} t SET consumer = $1, delivery = t.delivery + 1, head = picked.head
FROM picked WHERE t.id = picked.id AND t.consumer IS NULL
RETURNING t.id, t.delivery, t.origin, t.place, t.key, t.attempt, t.headers,
    CASE WHEN octet_length(t.payload) <= {max_item_bytes} THEN t.payload END, t.expired

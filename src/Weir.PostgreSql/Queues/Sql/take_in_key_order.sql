-- Takes the first items of their keys, and the items that follow each of them without a gap, under the lease $1. They are in one batch, so the host keeps their
-- order. The first items are found among the rows that have been due for longest: it looks at {front} rows, however many of a blocked key lie there. Those
-- behind these rows are found by find_heads, and their rows are $2: each is taken if it is still the first of its key.
-- The keys share the room: if one took it all, its items would run one after the other, and the first items of the other keys, which end with the same batch,
-- would wait for them. It looks at four times as many items as it has room for, in all keys together: the more, the more of the room a key gets that has many
-- items beside keys that have few.
-- Never "key = ... ORDER BY id": where most rows have the same key, that is planned as a search through all rows in the order of their ids.
-- Locks: the first items, without those that another source is just taking. The conditions on the locked row are written so that no index of free rows fits:
-- PostgreSQL can then only look it up by its id. Those that follow are locked by the update; a unique index on the key of a head ends a race for them.
--? front
WITH heads AS MATERIALIZED (
    SELECT c.id, c.key FROM (
        SELECT f.id FROM (
            SELECT id, key FROM {items} WHERE consumer IS NULL AND expired = 0 AND due <= now() ORDER BY due, id LIMIT {front}) f
        WHERE (f.key IS NULL OR (
            (SELECT e.id FROM {items} e WHERE e.key >= f.key AND e.key <= f.key ORDER BY e.key, e.id LIMIT 1) = f.id
            AND (SELECT e.id FROM {items} e WHERE e.key >= f.key AND e.key <= f.key AND e.consumer IS NOT NULL ORDER BY e.key, e.id LIMIT 1)
                IS NULL))) g
    JOIN {items} c ON c.id = g.id WHERE coalesce(c.consumer, 0) = 0 AND c.expired < 1 LIMIT {most} FOR UPDATE OF c SKIP LOCKED),
--? end
--? named
WITH heads AS MATERIALIZED (
    SELECT c.id, c.key FROM {items} c WHERE c.id = ANY ($2) AND coalesce(c.consumer, 0) = 0 AND c.expired < 1 AND c.due <= now()
        AND (c.key IS NULL OR (
            (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key ORDER BY e.key, e.id LIMIT 1) = c.id
            AND (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key AND e.consumer IS NOT NULL ORDER BY e.key, e.id LIMIT 1)
                IS NULL))
    ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED),
--? end
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

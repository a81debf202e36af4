-- Finds the first items of some keys, wherever their rows lie, and items without a key: which could be taken, the last key looked at, and how many keys were.
-- It goes from key to key, however many rows each has: from the first key on, or from the one after $1.
-- Locks: none.
WITH RECURSIVE walk(key) AS (
    (SELECT i.key FROM {items} i
    WHERE i.key IS NOT NULL --? from_first
    WHERE i.key > $1 --? from_next
    ORDER BY i.key LIMIT 1)
    UNION ALL
    SELECT (SELECT i.key FROM {items} i WHERE i.key > w.key ORDER BY i.key LIMIT 1) FROM walk w WHERE w.key IS NOT NULL),
keys AS MATERIALIZED (SELECT key FROM walk WHERE key IS NOT NULL LIMIT {most})
SELECT ARRAY (
        SELECT c.id FROM keys k CROSS JOIN LATERAL (
            SELECT e.id, e.consumer, e.expired, e.due FROM {items} e WHERE e.key >= k.key AND e.key <= k.key ORDER BY e.key, e.id LIMIT 1) c
        WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now()
        UNION ALL (
            SELECT id FROM {items} WHERE consumer IS NULL AND expired = 0 AND due <= now() AND key IS NULL ORDER BY due, id LIMIT {most})),
    (SELECT max(key) FROM keys), (SELECT count(*) FROM keys)

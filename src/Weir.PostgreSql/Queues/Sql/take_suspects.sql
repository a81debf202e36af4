-- Takes a band of suspects under the lease $1: rows whose lease has ended while they ran. The source holds nothing else meanwhile.
-- It takes the band of the suspect that was taken the fewest times, so that one which kills processes holds nobody up. Two sources that look at the same moment
-- may share a band. A row that a program of the version before has made suspect has no band: it is one by itself.
-- Locks: the rows that it takes. It leaves out those that another source is just taking.
WITH front AS MATERIALIZED (
    SELECT c.id, c.band, c.expired FROM {items} c WHERE c.consumer IS NULL AND c.expired > 0 AND c.due <= now()
        --? keyed
        AND (c.key IS NULL OR (
            (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key ORDER BY e.key, e.id LIMIT 1) = c.id
            AND (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key AND e.consumer IS NOT NULL ORDER BY e.key, e.id LIMIT 1)
                IS NULL))
        --? end
    ORDER BY c.expired, c.delivery, c.id LIMIT 1 FOR UPDATE OF c SKIP LOCKED),
others AS MATERIALIZED (
    SELECT c.id FROM {items} c JOIN front f ON c.band = f.band AND c.expired = f.expired AND c.id <> f.id
    WHERE c.consumer IS NULL AND c.expired > 0 AND c.due <= now()
        --? keyed
        AND (c.key IS NULL OR (
            (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key ORDER BY e.key, e.id LIMIT 1) = c.id
            AND (SELECT e.id FROM {items} e WHERE e.key >= c.key AND e.key <= c.key AND e.consumer IS NOT NULL ORDER BY e.key, e.id LIMIT 1)
                IS NULL))
        --? end
    ORDER BY c.id LIMIT {others} FOR UPDATE OF c SKIP LOCKED),
picked AS (SELECT id FROM front UNION ALL SELECT id FROM others)
UPDATE {items} t SET consumer = $1, delivery = t.delivery + 1
    , head = t.key IS NOT NULL --? keyed
FROM picked WHERE t.id = picked.id
RETURNING t.id, t.delivery, t.origin, t.place, t.key, t.attempt, t.headers,
    CASE WHEN octet_length(t.payload) <= {max_item_bytes} THEN t.payload END, t.expired

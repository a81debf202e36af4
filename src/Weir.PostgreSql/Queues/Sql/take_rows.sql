-- Takes the rows that have been due for longest, under the lease $1, in a queue without an order of keys.
-- Locks: the rows that it takes. It leaves out those that another source is just taking.
WITH picked AS MATERIALIZED (
    SELECT c.id FROM {items} c WHERE c.consumer IS NULL AND c.expired = 0 AND c.due <= now()
    ORDER BY c.due, c.id LIMIT {most} FOR UPDATE OF c SKIP LOCKED)
UPDATE {items} t SET consumer = $1, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id
RETURNING t.id, t.delivery, t.origin, t.place, t.key, t.attempt, t.headers,
    CASE WHEN octet_length(t.payload) <= {max_item_bytes} THEN t.payload END, t.expired

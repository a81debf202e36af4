-- Takes the pack that has been due for longest, and those after it that one batch has room for, under the lease $1. As "older": nothing, if a row has been due
-- for longer than all packs.
-- Locks: the packs that it takes. It leaves out those that another source is just taking.
WITH front AS MATERIALIZED (
    SELECT c.id, c.due, c.size FROM {packs} c WHERE consumer IS NULL AND due <= now() AND size <= {most}
        AND c.due <= coalesce((SELECT due FROM {items} WHERE consumer IS NULL AND expired = 0 AND due <= now() ORDER BY due, id LIMIT 1), 'infinity') --? older
    ORDER BY c.due, c.id DESC LIMIT 1 FOR UPDATE OF c SKIP LOCKED),
others AS MATERIALIZED (
    SELECT c.id FROM {packs} c WHERE c.consumer IS NULL AND c.id IN (
        SELECT n.id FROM front f CROSS JOIN LATERAL (
            SELECT p.id, f.size + sum(p.size) OVER (ORDER BY p.due, p.id DESC) AS total FROM (
                SELECT id, due, size FROM {packs} WHERE consumer IS NULL AND due <= now() AND size <= {most} AND due >= f.due AND id <> f.id
                ORDER BY due, id DESC LIMIT ({most} - f.size) / {min_pack}) p) n
        WHERE n.total <= {most})
    FOR UPDATE OF c SKIP LOCKED),
picked AS (SELECT id FROM front UNION ALL SELECT id FROM others)
UPDATE {packs} t SET consumer = $1, delivery = t.delivery + 1 FROM picked WHERE t.id = picked.id
RETURNING t.id, t.delivery, t.origins, t.places, t.keys, t.attempts, t.headers, t.payloads

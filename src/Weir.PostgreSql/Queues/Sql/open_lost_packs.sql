-- Makes rows of the packs whose lease is not alive. They get a holder that no source is: one that renews its lease at this very moment has lost them all the
-- same.
-- The band of the new rows is the pack, until somebody decides about them as suspects.
-- Locks: the packs. It leaves out those that somebody else has locked.
WITH opened AS (
    DELETE FROM {packs} WHERE id IN (
        SELECT id FROM {packs} WHERE consumer IS NOT NULL
            AND consumer NOT IN (SELECT c.id FROM {consumers} c WHERE c.queue = {queue} AND c.lease_until >= now())
        FOR UPDATE SKIP LOCKED)
    RETURNING *),
added AS (
    INSERT INTO {items} (due, consumer, delivery, band, origin, place, key, attempt, headers, payload)
    SELECT p.due, -p.consumer, p.delivery, p.id, (p.origins)[least(u.number, cardinality(p.origins))::int], u.place,
        (p.keys)[least(u.number, cardinality(p.keys))::int], (p.attempts)[least(u.number, cardinality(p.attempts))::int],
        (p.headers)[least(u.number, cardinality(p.headers))::int], u.payload
    FROM opened p CROSS JOIN LATERAL unnest(p.places, p.payloads) WITH ORDINALITY AS u(place, payload, number) ORDER BY p.id DESC, u.number
    RETURNING id)
SELECT id FROM added ORDER BY id

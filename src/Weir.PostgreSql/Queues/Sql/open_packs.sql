-- Makes rows of packs. The band of the new rows is the pack, until somebody decides about them as suspects. Which packs:
--   lost: those whose lease is not alive. Their rows get a holder that no source is: one that renews its lease at this very moment has lost them all the same.
--   held: the pack $1 in its delivery $2. Its rows stay under its lease $3, and their numbers come in the order of the pack. So they do if it is repeated.
--   long: the one that has been due for longest among those that have more items than this consumer takes at once.
--   named: those that nobody has and that have one of the items whose identities are $1 and $2, so that cancel_items can delete these.
-- Locks: the packs. It leaves out those that somebody else has locked; of a held pack it waits for the lock.
WITH opened AS (
    DELETE FROM {packs} WHERE id IN (
--? lost
        SELECT id FROM {packs} WHERE consumer IS NOT NULL
            AND consumer NOT IN (SELECT c.id FROM {consumers} c WHERE c.queue = {queue} AND c.lease_until >= now())
        FOR UPDATE SKIP LOCKED)
--? end
        SELECT id FROM {packs} WHERE id = $1 AND delivery = $2 AND consumer = $3 FOR UPDATE) --? held
        SELECT id FROM {packs} WHERE consumer IS NULL AND size > {most} AND due <= now() ORDER BY due, id DESC LIMIT 1 FOR UPDATE SKIP LOCKED) --? long
--? named
        SELECT id FROM {packs} WHERE consumer IS NULL
            AND EXISTS (SELECT FROM unnest($1, $2) AS g(origin, place) WHERE g.place = ANY (places) AND g.origin = ANY (origins))
        FOR UPDATE SKIP LOCKED)
--? end
    RETURNING *),
added AS (
    INSERT INTO {items} (due, consumer, delivery, band, origin, place, key, attempt, headers, payload)
    SELECT p.due,
        - --? lost
        p.consumer, p.delivery, p.id, (p.origins)[least(u.number, cardinality(p.origins))::int], u.place,
        (p.keys)[least(u.number, cardinality(p.keys))::int], (p.attempts)[least(u.number, cardinality(p.attempts))::int],
        (p.headers)[least(u.number, cardinality(p.headers))::int], u.payload
    FROM opened p CROSS JOIN LATERAL unnest(p.places, p.payloads) WITH ORDINALITY AS u(place, payload, number) ORDER BY p.id DESC, u.number
    RETURNING id)
SELECT id FROM added
UNION ALL SELECT id FROM {items} WHERE consumer = $3 AND band = $1 --? held
ORDER BY id

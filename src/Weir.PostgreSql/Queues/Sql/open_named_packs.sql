-- Makes rows of the packs that nobody has and that have one of the items whose identities are $1 and $2, so that cancel can delete these.
-- The band of the new rows is the pack, until somebody decides about them as suspects.
-- Locks: the packs. It leaves out those that somebody else has locked.
WITH opened AS (
    DELETE FROM {packs} WHERE id IN (
        SELECT id FROM {packs} WHERE consumer IS NULL
            AND EXISTS (SELECT FROM unnest($1, $2) AS g(origin, place) WHERE g.place = ANY (places) AND g.origin = ANY (origins))
        FOR UPDATE SKIP LOCKED)
    RETURNING *),
added AS (
    INSERT INTO {items} (due, consumer, delivery, band, origin, place, key, attempt, headers, payload)
    SELECT p.due, p.consumer, p.delivery, p.id, (p.origins)[least(u.number, cardinality(p.origins))::int], u.place,
        (p.keys)[least(u.number, cardinality(p.keys))::int], (p.attempts)[least(u.number, cardinality(p.attempts))::int],
        (p.headers)[least(u.number, cardinality(p.headers))::int], u.payload
    FROM opened p CROSS JOIN LATERAL unnest(p.places, p.payloads) WITH ORDINALITY AS u(place, payload, number) ORDER BY p.id DESC, u.number
    RETURNING id)
SELECT id FROM added ORDER BY id

-- Makes rows of the pack $1 in its delivery $2, which stay under its lease $3, and returns their numbers in the order of the pack. So does repeating it.
-- The band of the new rows is the pack, until somebody decides about them as suspects.
-- Locks: the pack.
WITH opened AS (
    DELETE FROM {packs} WHERE id IN (
        SELECT id FROM {packs} WHERE id = $1 AND delivery = $2 AND consumer = $3 FOR UPDATE)
    RETURNING *),
added AS (
    INSERT INTO {items} (due, consumer, delivery, band, origin, place, key, attempt, headers, payload)
    SELECT p.due, p.consumer, p.delivery, p.id, (p.origins)[least(u.number, cardinality(p.origins))::int], u.place,
        (p.keys)[least(u.number, cardinality(p.keys))::int], (p.attempts)[least(u.number, cardinality(p.attempts))::int],
        (p.headers)[least(u.number, cardinality(p.headers))::int], u.payload
    FROM opened p CROSS JOIN LATERAL unnest(p.places, p.payloads) WITH ORDINALITY AS u(place, payload, number) ORDER BY p.id DESC, u.number
    RETURNING id)
SELECT id FROM added UNION ALL SELECT id FROM {items} WHERE consumer = $3 AND band = $1 ORDER BY id

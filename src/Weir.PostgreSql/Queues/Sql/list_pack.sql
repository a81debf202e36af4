-- The items of the pack that comes after the pack $1, up to $2 of them. The numbers of packs fall.
-- Locks: none.
SELECT p.id, (p.origins)[least(u.number, cardinality(p.origins))::int], u.place, (p.keys)[least(u.number, cardinality(p.keys))::int],
    (p.attempts)[least(u.number, cardinality(p.attempts))::int], p.due, p.consumer IS NOT NULL,
    (p.headers)[least(u.number, cardinality(p.headers))::int], u.payload
FROM (SELECT * FROM {packs} WHERE id < $1 ORDER BY id DESC LIMIT 1) p
CROSS JOIN LATERAL unnest(p.places, p.payloads) WITH ORDINALITY AS u(place, payload, number)
ORDER BY u.number LIMIT $2

-- The item with the identity $1 and $2, in a row or in a pack; the first of them if several have it. It reads both tables.
-- Locks: none.
(SELECT id, origin, place, key, attempt, due, consumer IS NOT NULL, headers, payload
FROM {items} WHERE origin = $1 AND place = $2 ORDER BY id LIMIT 1)
--? packs
UNION ALL
(SELECT p.id, (p.origins)[least(u.number, cardinality(p.origins))::int], u.place, (p.keys)[least(u.number, cardinality(p.keys))::int],
    (p.attempts)[least(u.number, cardinality(p.attempts))::int], p.due, p.consumer IS NOT NULL,
    (p.headers)[least(u.number, cardinality(p.headers))::int], u.payload
FROM (SELECT * FROM {packs} WHERE $1 = ANY (origins) AND $2 = ANY (places)) p
CROSS JOIN LATERAL unnest(p.places, p.payloads) WITH ORDINALITY AS u(place, payload, number)
WHERE (p.origins)[least(u.number, cardinality(p.origins))::int] = $1 AND u.place = $2 LIMIT 1)
LIMIT 1
--? end

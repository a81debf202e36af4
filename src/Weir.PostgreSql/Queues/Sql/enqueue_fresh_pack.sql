-- Stores items of one origin as one pack if none of them was enqueued before, and nothing otherwise. $1 to $6: the columns, one element where all are alike;
-- $7: the delay; $8: all their places.
-- Locks: the row of {published} of the origin. Whoever has enqueued one of the places is waited for.
WITH known AS (
    INSERT INTO {published} AS p (queue, origin, places, added, time)
    VALUES ({queue}, ($1)[1], $8::int8multirange, $8::int8multirange, clock_timestamp())
    ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.added, places = p.places + excluded.places, time = excluded.time
    WHERE NOT p.places && excluded.places RETURNING 1)
INSERT INTO {packs} (due, size, origins, places, keys, attempts, headers, payloads)
SELECT now() + $7, cardinality($2), $1, $2, $3, $4, $5, $6 FROM known

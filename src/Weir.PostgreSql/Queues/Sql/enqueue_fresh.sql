-- Stores items of one origin as rows if none of them was enqueued before, and nothing otherwise. $1 to $6: the columns; $7: the delay; $8: all their places.
-- Most calls end here, so the statement is short: it is planned each time, and planning enqueue_new takes three times as long as running it.
-- Locks: the row of {published} of the origin. Whoever has enqueued one of the places is waited for.
WITH known AS (
    INSERT INTO {published} AS p (queue, origin, places, added, time)
    VALUES ({queue}, ($1)[1], $8::int8multirange, $8::int8multirange, clock_timestamp())
    ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.added, places = p.places + excluded.places, time = excluded.time
    WHERE NOT p.places && excluded.places RETURNING 1)
INSERT INTO {items} (origin, place, key, attempt, headers, payload, due)
SELECT u.origin, u.place, u.key, u.attempt, u.headers, u.payload, now() + $7
FROM known CROSS JOIN unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS u(origin, place, key, attempt, headers, payload, number) ORDER BY u.number

-- Stores the items that were not enqueued before, as rows, and returns the places of the others, from 0. $1 to $6: the columns; $7: the delay.
-- A row for each origin says which of its items were published before. Whoever inserts that row first makes the others wait until its transaction commits or
-- rolls back. What they find then, and not what they saw before, decides which items are new.
-- Locks: a row of {published} for each origin, in the order of the origins, so that two calls cannot deadlock.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS u(origin, place, key, attempt, headers, payload, number)),
known AS (
    INSERT INTO {published} AS p (queue, origin, places, added, time)
    SELECT {queue}, g.origin, g.places, g.places, clock_timestamp()
    FROM (SELECT origin, range_agg(int8range(place, place, '[]')) AS places FROM given GROUP BY origin ORDER BY origin) g
    ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.places - p.places, places = p.places + excluded.places, time = excluded.time
    RETURNING p.origin, p.added),
decided AS MATERIALIZED (SELECT g.*, k.added @> g.place::bigint AS is_new FROM given g JOIN known k ON k.origin = g.origin),
added AS (
    INSERT INTO {items} (origin, place, key, attempt, headers, payload, due)
    SELECT origin, place, key, attempt, headers, payload, now() + $7 FROM decided WHERE is_new ORDER BY number)
SELECT (number - 1)::int FROM decided WHERE NOT is_new

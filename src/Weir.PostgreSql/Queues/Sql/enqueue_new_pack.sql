-- Stores items as one pack; if some of them were enqueued before, the others become rows, and the places of those before are returned, from 0. $1 to $6: the
-- columns, one element where all are alike; $7: the delay; $8 and $9: the origins, and the places of each. Items are looked at one by one only if some are
-- known.
-- Locks: a row of {published} for each origin, in the order of the origins, so that two calls cannot deadlock.
WITH given AS MATERIALIZED (SELECT origin, places::int8multirange AS places FROM unnest($8, $9) AS u(origin, places)),
known AS (
    INSERT INTO {published} AS p (queue, origin, places, added, time)
    SELECT {queue}, origin, places, places, clock_timestamp() FROM given ORDER BY origin
    ON CONFLICT (queue, origin) DO UPDATE SET added = excluded.places - p.places, places = p.places + excluded.places, time = excluded.time
    RETURNING p.origin, p.added),
mixed AS MATERIALIZED (SELECT EXISTS (SELECT FROM given g JOIN known k ON k.origin = g.origin WHERE k.added <> g.places) AS yes),
pack AS (
    INSERT INTO {packs} (due, size, origins, places, keys, attempts, headers, payloads)
    SELECT now() + $7, cardinality($2), $1, $2, $3, $4, $5, $6 WHERE NOT (SELECT yes FROM mixed)),
decided AS MATERIALIZED (
    SELECT i.*, k.added @> i.place::bigint AS is_new
    FROM (
        SELECT ($1)[least(u.number, cardinality($1))::int] AS origin, u.place, ($3)[least(u.number, cardinality($3))::int] AS key,
            ($4)[least(u.number, cardinality($4))::int] AS attempt, ($5)[least(u.number, cardinality($5))::int] AS headers, u.payload, u.number
        FROM unnest($2, $6) WITH ORDINALITY AS u(place, payload, number) WHERE (SELECT yes FROM mixed)) i
    JOIN known k ON k.origin = i.origin),
added AS (
    INSERT INTO {items} (origin, place, key, attempt, headers, payload, due)
    SELECT origin, place, key, attempt, headers, payload, now() + $7 FROM decided WHERE is_new ORDER BY number)
SELECT (number - 1)::int FROM decided WHERE NOT is_new

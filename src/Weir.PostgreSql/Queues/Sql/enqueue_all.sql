-- Stores items as rows, in the order of the arrays, in a queue that does not remember identities. $1 to $6: the columns; $7: the delay.
-- Locks: only the rows that it inserts.
INSERT INTO {items} (origin, place, key, attempt, headers, payload, due)
SELECT origin, place, key, attempt, headers, payload, now() + $7
FROM unnest($1, $2, $3, $4, $5, $6) AS u(origin, place, key, attempt, headers, payload)

-- The items in rows behind the row $1, up to $2 of them, also those that wait for a time and those that a worker has.
-- Locks: none.
SELECT id, origin, place, key, attempt, due, consumer IS NOT NULL, headers, payload
FROM {items} WHERE id > $1 ORDER BY id LIMIT $2

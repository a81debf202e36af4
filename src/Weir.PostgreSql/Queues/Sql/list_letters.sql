-- The dead letters behind the number $1, the oldest first, up to $2 of them.
-- Locks: none.
SELECT id, source, reason, error, attempts, time, key, headers, payload, number
FROM {dead_letters} WHERE queue = {queue} AND number > $1 ORDER BY number LIMIT $2

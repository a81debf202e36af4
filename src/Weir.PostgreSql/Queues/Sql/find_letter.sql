-- The dead letter with the identity $1.
-- Locks: none.
SELECT id, source, reason, error, attempts, time, key, headers, payload, number
FROM {dead_letters} WHERE queue = {queue} AND id = $1

-- Stores dead letters. One with the same identity is replaced, so that storing them twice does no harm. $1 to $9: the columns.
-- Locks: the letters that it replaces.
INSERT INTO {dead_letters} AS dead (queue, id, source, reason, error, attempts, time, key, headers, payload)
SELECT {queue}, * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (queue, id) DO UPDATE SET source = excluded.source, reason = excluded.reason, error = excluded.error,
    attempts = excluded.attempts, time = excluded.time, key = excluded.key, headers = excluded.headers, payload = excluded.payload

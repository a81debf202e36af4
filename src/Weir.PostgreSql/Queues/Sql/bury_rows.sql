-- Makes dead letters of rows that cannot be read: $1 the rows, $2 their deliveries, $3 their leases, $4 the identities of the letters, $5 reasons, $6 errors.
-- Only the lease that has this very delivery of a row can settle it: one that took it before has lost it.
-- Locks: the rows that it deletes, and the letters that it replaces.
WITH gone AS (
    DELETE FROM {items} t USING unnest($1, $2, $3, $4, $5, $6) AS d(id, delivery, lease, letter, reason, error)
    WHERE t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease
    RETURNING d.letter, d.reason, d.error, t.attempt, t.key, t.headers, t.payload)
INSERT INTO {dead_letters} AS dead (queue, id, source, reason, error, attempts, time, key, headers, payload)
SELECT DISTINCT ON (letter) {queue}, letter, {queue}, reason, error, attempt, now(), key, headers, payload FROM gone
ON CONFLICT (queue, id) DO UPDATE SET source = excluded.source, reason = excluded.reason, error = excluded.error,
    attempts = excluded.attempts, time = excluded.time, key = excluded.key, headers = excluded.headers, payload = excluded.payload

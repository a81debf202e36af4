-- Begins a lease, which lasts for $2, for a source on the host $1, and returns its number.
-- Locks: only the row that it inserts.
INSERT INTO {consumers} (queue, host, lease_until) VALUES ({queue}, $1, now() + $2) RETURNING id

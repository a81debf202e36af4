-- Extends the leases $1 to $2 from now, and returns those that are still there: whoever does not find its lease has lost what it held.
-- Locks: the rows of the leases.
UPDATE {consumers} SET lease_until = now() + $2 WHERE id = ANY ($1) RETURNING id

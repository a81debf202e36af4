-- Keeps rows for their next attempt, whose number is $4, after $5: $1 the rows, $2 their deliveries, $3 their leases. They are no suspects any more.
-- Only the lease that has this very delivery of a row can settle it: one that took it before has lost it.
-- Locks: the rows.
UPDATE {items} t SET consumer = NULL, expired = 0, band = NULL, attempt = d.attempt, due = now() + $5
    , head = false --? keyed
FROM unnest($1, $2, $3, $4) AS d(id, delivery, lease, attempt) WHERE t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease

-- Lets others take rows that were not processed: $1 the rows, $2 their deliveries, $3 their leases. It counts neither as an attempt nor as a crash.
-- Only the lease that has this very delivery of a row can settle it: one that took it before has lost it.
-- Locks: the rows.
UPDATE {items} t SET consumer = NULL
    , head = false --? keyed
FROM unnest($1, $2, $3) AS d(id, delivery, lease) WHERE t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease

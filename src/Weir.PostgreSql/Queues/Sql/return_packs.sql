-- Lets others take packs that were not processed: $1 the packs, $2 their deliveries, $3 their leases.
-- Only the lease that has this very delivery of a row can settle it: one that took it before has lost it.
-- Locks: the packs.
UPDATE {packs} t SET consumer = NULL FROM unnest($1, $2, $3) AS d(id, delivery, lease)
WHERE t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease

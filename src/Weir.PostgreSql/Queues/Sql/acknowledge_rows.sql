-- Deletes rows that are done: $1 the rows, $2 their deliveries, $3 their leases.
-- Only the lease that has this very delivery of a row can settle it: one that took it before has lost it.
-- It notifies nobody: transactions with a notification commit one at a time in the whole server. Whoever runs it notifies afterwards.
-- Locks: the rows that it deletes.
DELETE FROM {items} t USING unnest($1, $2, $3) AS d(id, delivery, lease)
WHERE t.id = d.id AND t.delivery = d.delivery AND t.consumer = d.lease

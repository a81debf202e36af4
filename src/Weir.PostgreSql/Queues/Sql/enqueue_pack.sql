-- Stores items as one pack, in a queue that does not remember identities. $1 to $6: the columns, one element where all are alike; $7: the delay.
-- Locks: only the row that it inserts.
INSERT INTO {packs} (due, size, origins, places, keys, attempts, headers, payloads)
SELECT now() + $7, cardinality($2), $1, $2, $3, $4, $5, $6

-- Removes the items and ranges $2 of the run $1, which are in other ranges now.
-- Locks: the rows that it deletes.
DELETE FROM {items} WHERE run = $1 AND item = ANY($2)

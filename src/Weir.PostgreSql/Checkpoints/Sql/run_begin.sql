-- Begins the next epoch of the run $1: marks of earlier ones fail from now on.
-- Locks: the row.
UPDATE {runs} SET epoch = epoch + 1 WHERE name = $1 RETURNING epoch, source, is_complete, by_key

-- Says of the run $1 which source $2 it has, whether that is done ($3), and whether it goes by key ($4).
-- Locks: the row, if something has changed.
UPDATE {runs} SET source = $2, is_complete = $3, by_key = $4
WHERE name = $1 AND (source, is_complete, by_key) IS DISTINCT FROM ($2, $3, $4)

-- Waits for the transactions that have marked items of the run $1, and keeps others from it until this one ends.
-- Locks: the row, also against the locks of run_mark.
SELECT FROM {runs} WHERE name = $1 FOR UPDATE

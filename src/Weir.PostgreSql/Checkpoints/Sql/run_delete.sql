-- Forgets what the run $1 has done. Its row stays without a source, so that marks of earlier epochs still fail.
-- Locks: the row, and the rows that it deletes.
WITH run AS (UPDATE {runs} SET source = NULL, is_complete = false WHERE name = $1 RETURNING name)
DELETE FROM {items} i USING run WHERE i.run = run.name

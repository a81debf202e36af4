-- What the run $1 has done: keys, or positions and ranges of them.
-- Locks: none.
SELECT item FROM {items} WHERE run = $1

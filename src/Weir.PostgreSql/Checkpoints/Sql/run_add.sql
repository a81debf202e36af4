-- Adds the run $1, if it never was.
-- Locks: the row, if it is new.
INSERT INTO {runs} (name, epoch) VALUES ($1, 0) ON CONFLICT DO NOTHING

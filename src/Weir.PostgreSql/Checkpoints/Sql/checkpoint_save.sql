-- Saves that the stream $1 has been processed up to the position $2.
-- Locks: the row.
INSERT INTO {table} AS c (name, "position", saved) VALUES ($1, $2, now())
ON CONFLICT (name) DO UPDATE SET "position" = excluded."position", saved = excluded.saved

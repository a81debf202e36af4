-- Adds what the run $1 has done and not marked, $2.
-- Locks: the rows that it inserts.
INSERT INTO {items} (run, item) SELECT $1, item FROM unnest($2) AS u(item) ORDER BY item ON CONFLICT DO NOTHING

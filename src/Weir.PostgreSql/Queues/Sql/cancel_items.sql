-- Deletes the rows of the items with the identities $1 and $2 that nobody has, and says how many. It reads the whole table.
-- Locks: the rows that it deletes.
WITH gone AS (
    DELETE FROM {items} t USING (SELECT DISTINCT * FROM unnest($1, $2) AS u(origin, place)) g
    WHERE t.origin = g.origin AND t.place = g.place AND t.consumer IS NULL RETURNING 1)
SELECT {notify}, (SELECT count(*) FROM gone)

-- Returns what was taken under the lease $1 and never arrived at the source, which knows of $2 only. The rows of a pack that is held are held.
-- Locks: the rows and packs that it frees.
WITH freed AS (
    UPDATE {items} SET consumer = NULL
        , head = false --? keyed
    WHERE consumer = $1 AND id <> ALL ($2) AND (band < 0 AND band = ANY ($2)) IS NOT TRUE)
, packs AS (UPDATE {packs} SET consumer = NULL WHERE consumer = $1 AND id <> ALL ($2)) --? packs
SELECT {notify}

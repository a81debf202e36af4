-- Ends the leases $1, and returns what is held under them: nobody waits for a lease to run out when a source is disposed.
-- Locks: the rows of the leases, and the rows and packs that are held.
WITH ended AS (DELETE FROM {consumers} WHERE id = ANY ($1)),
freed AS (
    UPDATE {items} SET consumer = NULL
        , head = false --? keyed
    WHERE consumer = ANY ($1))
, packs AS (UPDATE {packs} SET consumer = NULL WHERE consumer = ANY ($1)) --? packs
SELECT {notify}

-- Ends the leases that have run out, frees the rows that nobody holds any more as suspects, and says whether there are suspects.
-- It looks for rows whose lease is not alive, and not for rows of leases that have ended: a take that was under way when its lease ended may name one that is
-- gone. It compares the lease by name, because a row that is freed and taken again meanwhile has another one. It goes from holder to holder, so that it does
-- not matter how many rows each has, and takes up to 20,000 of each; the rest follows the next time, a quarter of a lease later.
-- What a holder had becomes bands of half a batch, or two halves if it was less than that. A band has the number of its first row. Only a suspect that was all
-- that its holder had, so that it ran alone, counts as a crash. What a holder had in packs has its number below zero.
-- Locks: the leases and the rows that it changes. It leaves out those that somebody else has locked.
WITH RECURSIVE holders(id) AS (
    (SELECT i.consumer FROM {items} i WHERE i.consumer IS NOT NULL ORDER BY i.consumer LIMIT 1)
    UNION ALL
    SELECT (SELECT i.consumer FROM {items} i WHERE i.consumer > h.id ORDER BY i.consumer LIMIT 1) FROM holders h WHERE h.id IS NOT NULL),
ended AS (
    DELETE FROM {consumers} WHERE id IN (
        SELECT id FROM {consumers} WHERE queue = {queue} AND lease_until < now() FOR UPDATE SKIP LOCKED)),
lost AS MATERIALIZED (
    SELECT f.id, h.id AS holder FROM holders h CROSS JOIN LATERAL (
        SELECT i.id FROM {items} i WHERE i.consumer >= h.id AND i.consumer <= h.id ORDER BY i.consumer LIMIT 20000
        FOR UPDATE SKIP LOCKED) f
    WHERE h.id NOT IN (SELECT c.id FROM {consumers} c WHERE c.queue = {queue} AND c.lease_until >= now())),
counted AS (
    SELECT id, count(*) OVER holder AS held, (row_number() OVER (holder ORDER BY id) - 1) AS place, holder FROM lost
    WINDOW holder AS (PARTITION BY abs(holder))),
banded AS (SELECT id, held, min(id) OVER (PARTITION BY abs(holder), place / ((least(held, {most}) + 1) / 2)) AS band FROM counted),
freed AS (
    UPDATE {items} t SET consumer = NULL, band = b.band
        , head = false --? keyed
        , expired = greatest(1, t.expired + CASE WHEN b.held = 1 THEN 1 ELSE 0 END)
    FROM banded b WHERE t.id = b.id AND t.id = ANY (ARRAY (SELECT id FROM lost)) RETURNING t.id)
SELECT EXISTS (SELECT FROM freed) OR EXISTS (SELECT FROM {items} WHERE consumer IS NULL AND expired > 0 AND due <= now())

-- Adds the identities $1 and $2, and returns those that are new.
-- Locks: the rows that it inserts. Whoever has inserted one of them is waited for, always in the same order, so that two lists with the same identities cannot
-- deadlock.
INSERT INTO {table} (inbox, origin, place)
SELECT {inbox}, origin, place FROM unnest($1, $2) AS u(origin, place) GROUP BY origin, place ORDER BY origin, place
ON CONFLICT DO NOTHING RETURNING origin, place

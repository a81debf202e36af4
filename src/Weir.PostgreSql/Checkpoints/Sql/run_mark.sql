-- Marks the items $3 of the run $1 as done. If the run is in another epoch than $2, its name becomes a null here, which fails. As "again": returns those that
-- were not marked before. Otherwise one that was fails.
-- Locks: the row of the run against the next epoch, and the rows that it inserts. Whoever has inserted one of them is waited for, always in the same order.
INSERT INTO {items} (run, item)
SELECT (SELECT name FROM {runs} WHERE name = $1 AND epoch = $2 FOR KEY SHARE), item FROM unnest($3) AS u(item) GROUP BY item ORDER BY item
ON CONFLICT DO NOTHING RETURNING item --? again

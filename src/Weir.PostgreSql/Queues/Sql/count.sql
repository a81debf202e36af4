-- How many items wait, wait for their time, and are held; for how many seconds the next one has been due; and how many dead letters there are.
-- Each count is of a partial index, so that neither values nor rows of others are read. The first by time is looked up, and not searched for.
-- Locks: none.
SELECT p.waiting + (SELECT count(*) FROM {items} WHERE consumer IS NULL AND expired = 0 AND due <= now())
        + (SELECT count(*) FROM {items} WHERE consumer IS NULL AND expired > 0 AND due <= now()),
    p.scheduled + (SELECT count(*) FROM {items} WHERE consumer IS NULL AND expired = 0 AND due > now())
        + (SELECT count(*) FROM {items} WHERE consumer IS NULL AND expired > 0 AND due > now()),
    p.held + (SELECT count(*) FROM {items} WHERE consumer IS NOT NULL),
    coalesce(extract(epoch FROM now() - least(p.due,
        (SELECT due FROM {items} WHERE consumer IS NULL AND expired = 0 AND due <= now() ORDER BY due, id LIMIT 1),
        (SELECT due FROM {items} WHERE consumer IS NULL AND expired > 0 AND due <= now() ORDER BY due, id LIMIT 1)))::float8, 0),
    (SELECT count(*) FROM {dead_letters} WHERE queue = {queue})
FROM (SELECT 0 AS waiting, 0 AS scheduled, 0 AS held, NULL::timestamptz AS due) p --? keyed
--? packs
FROM (SELECT coalesce(sum(size) FILTER (WHERE consumer IS NULL AND due <= now()), 0)::bigint AS waiting,
        coalesce(sum(size) FILTER (WHERE consumer IS NULL AND due > now()), 0)::bigint AS scheduled,
        coalesce(sum(size) FILTER (WHERE consumer IS NOT NULL), 0)::bigint AS held,
        min(due) FILTER (WHERE consumer IS NULL AND due <= now()) AS due FROM {packs}) p
--? end

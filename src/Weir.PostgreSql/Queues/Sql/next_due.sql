-- In how many seconds the next row or pack falls due, and whether there is a pack that is too long for this consumer.
-- Locks: none.
SELECT extract(epoch FROM least(
        (SELECT min(due) FROM {items} WHERE consumer IS NULL AND expired = 0 AND due > now()),
        (SELECT min(due) FROM {packs} WHERE consumer IS NULL AND due > now())) - now())::float8,
    EXISTS (SELECT FROM {packs} WHERE consumer IS NULL AND size > {most} AND due <= now())

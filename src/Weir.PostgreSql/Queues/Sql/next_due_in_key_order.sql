-- In how many seconds the next row falls due, and whether there are more free rows than take_in_key_order looks at.
-- Locks: none.
SELECT extract(epoch FROM min(due) - now())::float8,
    EXISTS (SELECT FROM {items} WHERE consumer IS NULL AND expired = 0 AND due <= now() ORDER BY due, id OFFSET {last_of_front})
FROM {items} WHERE consumer IS NULL AND expired = 0 AND due > now()

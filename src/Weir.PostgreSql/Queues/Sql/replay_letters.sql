-- Makes items of the dead letters with the identities $1, as their first attempt, and deletes the letters.
-- An identity is a text, a slash and a number. A letter whose identity is another text is published with that text and the number 0.
-- Locks: the letters.
WITH gone AS (
    DELETE FROM {dead_letters} WHERE queue = {queue} AND id = ANY ($1) RETURNING id, key, headers, payload),
named AS (SELECT *, substring(id FROM '^.+/([0-9]{1,10})$')::bigint <= 2147483647 IS TRUE AS is_name FROM gone)
INSERT INTO {items} (origin, place, key, attempt, headers, payload, due)
SELECT CASE WHEN is_name THEN substring(id FROM '^(.+)/[0-9]+$') ELSE id END,
    CASE WHEN is_name THEN substring(id FROM '^.+/([0-9]+)$')::integer ELSE 0 END, key, 1, headers, payload, now()
FROM named

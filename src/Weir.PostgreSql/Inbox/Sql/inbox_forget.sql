-- Deletes identities that are older than $1, up to {forgotten} of them.
-- Locks: the rows that it deletes. It leaves out those that somebody else has locked.
DELETE FROM {table} WHERE inbox = {inbox} AND (origin, place) IN (
    SELECT origin, place FROM {table} WHERE inbox = {inbox} AND time < clock_timestamp() - $1 ORDER BY time LIMIT {forgotten}
    FOR UPDATE SKIP LOCKED)

-- Forgets the identities of messages that were published longer ago than $1, up to {forgotten} of them.
-- Locks: the rows that it deletes. It leaves out those that somebody else has locked.
DELETE FROM {published} WHERE queue = {queue} AND origin IN (
    SELECT origin FROM {published} WHERE queue = {queue} AND time < clock_timestamp() - $1 ORDER BY time LIMIT {forgotten} FOR UPDATE SKIP LOCKED)

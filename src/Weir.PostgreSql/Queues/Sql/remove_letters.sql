-- Deletes the dead letters with the identities $1.
-- Locks: the letters.
DELETE FROM {dead_letters} WHERE queue = {queue} AND id = ANY ($1)

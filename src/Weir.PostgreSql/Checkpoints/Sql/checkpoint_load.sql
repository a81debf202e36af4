-- How far the stream $1 has been processed. As "locked": nobody else changes that until the transaction ends.
-- Locks: none; as "locked", the row.
SELECT "position" FROM {table} WHERE name = $1
FOR UPDATE --? locked

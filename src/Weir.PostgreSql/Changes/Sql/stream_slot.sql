-- The replication slot $1, if there is one.
-- Locks: none.
SELECT plugin::text, database::text, temporary, active, wal_status, coalesce(confirmed_flush_lsn, '0/0')::text
FROM pg_catalog.pg_replication_slots WHERE slot_name = $1

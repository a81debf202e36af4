-- How far the reader of the slot $1 is, what the server keeps for it, and where the log ends. A slot that is lost, or was never used, has no position.
-- Locks: none.
SELECT active, wal_status, safe_wal_size, confirmed_flush_lsn::text, restart_lsn::text,
    CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_flush_lsn() END::text
FROM pg_catalog.pg_replication_slots WHERE slot_name = $1

-- What a stream has to know of the server: its version, whether it is a standby, wal_level, where the log ends, wal_sender_timeout, the name of the
-- database and its encoding.
-- Locks: none.
SELECT current_setting('server_version_num')::int, pg_catalog.pg_is_in_recovery(), current_setting('wal_level'),
    CASE WHEN pg_catalog.pg_is_in_recovery() THEN '0/0' ELSE pg_catalog.pg_current_wal_flush_lsn()::text END,
    (SELECT setting::int FROM pg_catalog.pg_settings WHERE name = 'wal_sender_timeout'), current_database()::text,
    current_setting('server_encoding')

-- The table of the positions up to which streams have been processed.
CREATE TABLE {table} (name text PRIMARY KEY, "position" text NOT NULL, saved timestamptz NOT NULL)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

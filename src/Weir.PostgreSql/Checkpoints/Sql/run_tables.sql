-- The tables of what runs have done. A run has one row, and a row for each item that was marked with its effect, or for each range of positions.
CREATE TABLE {runs} (
    name text PRIMARY KEY, epoch bigint NOT NULL, source text, is_complete boolean NOT NULL DEFAULT false, by_key boolean NOT NULL DEFAULT false);

CREATE TABLE {items} (
    run text NOT NULL, item text COLLATE "C" NOT NULL, CONSTRAINT run_items_once PRIMARY KEY (run, item))
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- The table of the identities that have had their effect, which all inboxes of a schema share.
CREATE TABLE {table} (
    inbox text NOT NULL, origin text NOT NULL, place integer NOT NULL, time timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (inbox, origin, place))
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

CREATE INDEX inbox_time ON {table} (inbox, time);

-- What a queue without an order of keys has besides. A row of {packs} is a pack: items that were enqueued together, until one of them has to be told from the
-- others. An array whose elements are all alike has one. The numbers are below zero, so that those of rows and packs can stand in one list. Values are not
-- compressed: that would take longer than writing them.
CREATE TABLE {packs} (
    id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY -1) PRIMARY KEY, due timestamptz NOT NULL, consumer bigint,
    delivery integer NOT NULL DEFAULT 0, size integer NOT NULL, origins text[] NOT NULL, places integer[] NOT NULL, keys text[] NOT NULL,
    attempts integer[] NOT NULL, headers text[] NOT NULL, payloads bytea[] NOT NULL)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_cost_delay = 0);

ALTER TABLE {packs} ALTER payloads SET STORAGE EXTERNAL;

CREATE INDEX ON {packs} (due, id DESC) WHERE consumer IS NULL;

CREATE INDEX ON {packs} (consumer) WHERE consumer IS NOT NULL;

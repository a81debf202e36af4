-- The tables that all queues of a schema share, and the table of one queue. A row of {items} is an item; its consumer is the lease that it was taken under, and
-- null while nobody has it. Rows live for seconds and the tables are often empty, so they are vacuumed by count and not by share.
CREATE TABLE IF NOT EXISTS {consumers} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, host text NOT NULL, lease_until timestamptz NOT NULL)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

CREATE TABLE IF NOT EXISTS {dead_letters} (
    number bigint GENERATED ALWAYS AS IDENTITY, queue text NOT NULL, id text NOT NULL, source text NOT NULL, reason text NOT NULL,
    error text NOT NULL, attempts integer NOT NULL, time timestamptz NOT NULL, key text, headers text, payload bytea NOT NULL,
    PRIMARY KEY (queue, id), UNIQUE (queue, number));

CREATE TABLE IF NOT EXISTS {published} (
    queue text NOT NULL, origin text NOT NULL, places int8multirange NOT NULL, added int8multirange NOT NULL, time timestamptz NOT NULL,
    PRIMARY KEY (queue, origin))
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX IF NOT EXISTS published_time ON {published} (queue, time);

CREATE TABLE {items} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, due timestamptz NOT NULL DEFAULT now(), consumer bigint,
    delivery integer NOT NULL DEFAULT 0, attempt integer NOT NULL DEFAULT 1, expired integer NOT NULL DEFAULT 0,
    band bigint, place integer NOT NULL DEFAULT 0, head boolean NOT NULL DEFAULT false, origin text NOT NULL, key text, headers text,
    payload bytea NOT NULL)
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 100000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);

CREATE INDEX ON {items} (due, id) WHERE consumer IS NULL AND expired = 0;

CREATE INDEX ON {items} (due, id) WHERE consumer IS NULL AND expired > 0;

CREATE INDEX ON {items} (consumer) WHERE consumer IS NOT NULL;

CREATE INDEX ON {items} (expired, delivery, id) WHERE consumer IS NULL AND expired > 0;

CREATE INDEX ON {items} (band, id) WHERE consumer IS NULL AND expired > 0;

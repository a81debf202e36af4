-- What a queue that keeps the order of keys has besides. A head is the first item of its key in a batch, and there is one for each key.
CREATE INDEX ON {items} (key, id) WHERE key IS NOT NULL;

CREATE INDEX ON {items} (key, id) WHERE key IS NOT NULL AND consumer IS NOT NULL;

CREATE UNIQUE INDEX ON {items} (key) WHERE head;

CREATE INDEX ON {items} (due, id) WHERE consumer IS NULL AND expired = 0 AND key IS NULL;

-- What the types $1, and the types that they consist of, are made of: the kind, the base of a domain, the element of an array and what is between two of them,
-- and the names and types of the fields of a composite type.
-- Locks: none.
WITH RECURSIVE t (oid) AS (
    SELECT asked::oid FROM pg_catalog.unnest($1::bigint[]) asked
    UNION
    SELECT part.oid FROM t JOIN pg_catalog.pg_type p ON p.oid = t.oid CROSS JOIN LATERAL (
        SELECT p.typbasetype WHERE p.typtype = 'd'
        UNION ALL SELECT p.typelem WHERE p.typsubscript = 'pg_catalog.array_subscript_handler'::regproc
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
        WHERE p.typtype = 'c' AND a.attrelid = p.typrelid AND a.attnum > 0 AND NOT a.attisdropped) part (oid))
SELECT p.oid::bigint, p.typtype::text, p.typbasetype::bigint,
    CASE WHEN p.typsubscript = 'pg_catalog.array_subscript_handler'::regproc THEN p.typelem ELSE 0 END::bigint, e.typdelim::text,
    (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = p.typrelid AND a.attnum > 0 AND NOT a.attisdropped),
    (SELECT array_agg(a.atttypid::bigint ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = p.typrelid AND a.attnum > 0 AND NOT a.attisdropped)
FROM t JOIN pg_catalog.pg_type p ON p.oid = t.oid LEFT JOIN pg_catalog.pg_type e ON e.oid = p.typelem

-- The tables of the publication $1 that a snapshot would read, whether a policy hides rows of them, whether the user may read them, and their columns. Lists of
-- columns came with version 15; null stands for all of them.
-- Locks: none.
SELECT format('%I.%I', n.nspname, c.relname), c.relname::text, pg_catalog.row_security_active(c.oid),
    pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND NOT EXISTS (
        SELECT FROM unnest(pt.columns) name WHERE NOT pg_catalog.has_column_privilege(c.oid, name, 'SELECT')),
    pt.columns
FROM (
    SELECT pt.pubname, pt.schemaname, pt.tablename, ARRAY(
        SELECT a.attname::text FROM pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relname = pt.tablename
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = pt.schemaname
        WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
            AND coalesce(to_jsonb(pt) -> 'attnames' ? a.attname::text, true)) AS columns
    FROM pg_catalog.pg_publication_tables pt WHERE pt.pubname = $1) pt
JOIN pg_catalog.pg_namespace n ON n.nspname = pt.schemaname
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = pt.tablename
ORDER BY 1

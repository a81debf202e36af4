-- The tables of the publication $1 whose names begin with one of $2, as Weir's own do, and their columns.
-- Locks: none.
SELECT format('%I.%I', pt.schemaname, pt.tablename), pt.tablename::text, ARRAY(
    SELECT a.attname::text FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relname = pt.tablename
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = pt.schemaname
    WHERE a.attnum > 0 AND NOT a.attisdropped)
FROM pg_catalog.pg_publication_tables pt
WHERE pt.pubname = $1 AND EXISTS (SELECT FROM unnest($2::text[]) beginning WHERE starts_with(pt.tablename::text, beginning))
ORDER BY 1

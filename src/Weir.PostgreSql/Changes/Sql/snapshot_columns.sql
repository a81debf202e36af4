-- The columns of the tables of the publication $1 that a snapshot reads, and which of them are the key. Lists of columns and filters of rows came with version
-- 15 ("filters"). An index may include columns that are not part of its key.
-- Locks: none.
SELECT c.oid::bigint, n.nspname, c.relname,
    pt.rowfilter, --? filters
    NULL::text, --? no_filters
    c.relkind = 'p',
    a.attname, a.atttypid::bigint, a.atttypmod, i.indexrelid IS NOT NULL
FROM pg_catalog.pg_publication_tables pt
JOIN pg_catalog.pg_namespace n ON n.nspname = pt.schemaname
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = pt.tablename
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    AND a.attname = ANY(pt.attnames) --? filters
LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])
    AND CASE WHEN c.relreplident = 'i' THEN i.indisreplident ELSE i.indisprimary END
WHERE pt.pubname = $1
ORDER BY n.nspname, c.relname, a.attnum

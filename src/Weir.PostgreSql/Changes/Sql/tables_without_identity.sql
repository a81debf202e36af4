-- Up to ten tables of the publication $1 whose updates and deletes would fail, because they have no replica identity. The partitions of a table that is
-- published as a whole have identities of their own.
-- Locks: none.
SELECT format('%I.%I', n.nspname, c.relname)
FROM pg_catalog.pg_publication p
JOIN pg_catalog.pg_publication_tables pt ON pt.pubname = p.pubname
JOIN pg_catalog.pg_namespace rn ON rn.nspname = pt.schemaname
JOIN pg_catalog.pg_class r ON r.relnamespace = rn.oid AND r.relname = pt.tablename
CROSS JOIN LATERAL (
    SELECT t.relid::oid AS oid FROM pg_catalog.pg_partition_tree(r.oid) t WHERE t.isleaf UNION SELECT r.oid WHERE r.relkind <> 'p') leaf
JOIN pg_catalog.pg_class c ON c.oid = leaf.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE p.pubname = $1 AND (p.pubupdate OR p.pubdelete) AND (c.relreplident = 'n'
    OR c.relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
    OR c.relreplident = 'i' AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisreplident))
ORDER BY 1 LIMIT 10

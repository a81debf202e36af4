-- What the server does not send about the table $1: the columns of its primary key, of which table it is a partition, and by which columns that is partitioned.
-- An index may include columns that are not part of its key.
-- Locks: none.
SELECT ARRAY(
        SELECT a.attname::text FROM pg_catalog.pg_index i
        JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1])
        WHERE i.indrelid = t.oid AND i.indisprimary),
    (SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = pg_catalog.pg_partition_root(t.oid)),
    ARRAY(
        SELECT DISTINCT a.attname::text FROM pg_catalog.pg_partition_tree(pg_catalog.pg_partition_root(t.oid)) tree
        JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = tree.relid
        JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = ANY(p.partattrs::int2[]))
FROM (SELECT $1::bigint::oid AS oid) t

-- Lets whoever may use the table of items use the table of packs, which was made beside it later. The body of a block of PL/pgSQL; {items_text} and
-- {packs_text} are the names as texts.
DECLARE g record;
BEGIN
    FOR g IN SELECT a.privilege_type AS may, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS who
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE c.oid = {items_text}::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE 'GRANT ' || g.may || ' ON ' || {packs_text} || ' TO ' || g.who;
    END LOOP;
END

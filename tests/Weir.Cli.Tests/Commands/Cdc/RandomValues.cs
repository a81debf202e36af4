namespace Weir.Cli.Tests.Commands.Cdc;

/// <summary>How the server makes a random value of a built-in type that is not made of others.</summary>
internal static class RandomValues
{
    /// <summary>Functions that the expressions use.</summary>
    public const string Functions = """
        CREATE SCHEMA gen;
        CREATE FUNCTION gen.pick(VARIADIC text[]) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT $1[1 + floor(random() * cardinality($1))::int]';
        CREATE FUNCTION gen.whole(first bigint, last bigint) RETURNS bigint VOLATILE LANGUAGE sql
            AS 'SELECT first + floor(random() * (last - first + 1))::bigint';
        CREATE FUNCTION gen.digits(most int) RETURNS text VOLATILE LANGUAGE sql
            AS $$SELECT left(translate(md5(random()::text) || md5(random()::text) || md5(random()::text), 'abcdef', '012345'), gen.whole(1, most)::int)$$;
        CREATE FUNCTION gen.word() RETURNS text VOLATILE LANGUAGE sql AS $$
            SELECT left(md5(random()::text), gen.whole(0, 6)::int)
            || gen.pick('"', '', '', E'\\', '{', '},', ',', '(', ')', 'NULL', ' ', E'\n', E'\t', 'ä', '😀', '''', ';')
            || gen.pick('', left(md5(random()::text), 5), E'\r\n', '""', E'\\"', E'\u2028', E'\x01') $$;
        CREATE FUNCTION gen.json(depth int) RETURNS text VOLATILE LANGUAGE plpgsql AS $$
            BEGIN
                RETURN CASE WHEN depth = 0 OR random() < 0.4
                    THEN gen.pick('1', '-1.50', 'null', 'true', '"a\u0001b"', '""', '1e10', to_json(gen.word())::text, gen.digits(60)::numeric::text)
                    WHEN random() < 0.5 THEN format(E'[%s ,\n%s]', gen.json(depth - 1), gen.json(depth - 1))
                    ELSE format(E' {"a": %s,\r\n\t%s: %s} ', gen.json(depth - 1), to_json('b' || gen.word()), gen.json(depth - 1)) END;
            END $$;
        CREATE FUNCTION gen.span() RETURNS interval VOLATILE LANGUAGE sql AS $$
            SELECT make_interval(gen.whole(-20, 20)::int, gen.whole(-13, 13)::int, 0, gen.whole(-40, 40)::int, 0, 0, (random() - 0.5) * 1e6) $$;
        CREATE FUNCTION gen.day() RETURNS date VOLATILE LANGUAGE sql AS $$
            SELECT CASE WHEN random() < 0.1 THEN gen.pick('infinity', '-infinity', '4713-01-01 BC', '5874897-12-30', '0001-01-01', '0001-12-31 BC')::date
                ELSE '2000-01-01'::date + gen.whole(-2400000, 9000000)::int END $$;
        CREATE FUNCTION gen.moment() RETURNS timestamp VOLATILE LANGUAGE sql AS $$
            SELECT CASE WHEN random() < 0.1 THEN gen.pick('infinity', '-infinity', '4713-01-01 BC', '294276-12-31 23:59:59.999999', '20000-01-01')::timestamp
                ELSE '2000-01-01'::timestamp + make_interval(days => gen.whole(-2400000, 9000000)::int)
                    + gen.whole(0, 86399999999) * interval '1 microsecond' END $$;
        CREATE FUNCTION gen.point() RETURNS point VOLATILE LANGUAGE sql AS $$SELECT point((random() - 0.5) * power(10, gen.whole(-9, 9)), random() * 100)$$;
        """;

    /// <summary>What the values of some types are of: the server makes those of statistics by itself.</summary>
    public const string Statistics = """
        CREATE TABLE gen.measured AS SELECT i % 7 AS a, i % 14 AS b FROM generate_series(1, 1000) i;
        CREATE STATISTICS gen.measures (ndistinct, dependencies, mcv) ON a, b FROM gen.measured;
        ANALYZE gen.measured;
        """;

    /// <summary>Expressions by the names of types. Types that are not here, and not made of those, have no values but null.</summary>
    public static readonly IReadOnlyDictionary<string, string> Expressions = new Dictionary<string, string>(StringComparer.Ordinal)
    {
        ["boolean"] = "random() < 0.5",
        ["bytea"] = "decode(left(md5(random()::text), 2 * gen.whole(0, 16)::int), 'hex')",
        ["\"char\""] = "chr(gen.whole(1, 127)::int)::\"char\"",
        ["name"] = "gen.word()::name",
        ["bigint"] = "('x' || left(md5(random()::text), 16))::bit(64)::bigint",
        ["smallint"] = "gen.whole(-32768, 32767)::smallint",
        ["integer"] = "gen.whole(-2147483648, 2147483646)::int",
        ["text"] = "gen.word()",
        ["character varying"] = "gen.word()::varchar",
        ["character"] = "gen.word()::bpchar",
        ["oid"] = "gen.whole(0, 4294967295)::oid",
        ["tid"] = "format('(%s,%s)', gen.whole(0, 4294967295), gen.whole(0, 65535))::tid",
        ["xid"] = "gen.whole(0, 4294967295)::text::xid",
        ["cid"] = "gen.whole(0, 4294967295)::text::cid",
        ["xid8"] = "gen.whole(0, 1000000000000000)::text::xid8",
        ["int2vector"] = "gen.pick('', '1', '1 -2', '32767 0 5')::int2vector",
        ["oidvector"] = "gen.pick('', '1', '1 2', '4294967295 0 5')::oidvector",
        ["json"] = "gen.json(3)::json",
        ["jsonb"] = "gen.json(3)::jsonb",
        ["xml"] = "xmlelement(name a, xmlattributes(gen.digits(5) AS b), left(md5(random()::text), 5) || gen.pick('<', '&', 'ä', '\"'))",
        ["jsonpath"] = "format('$.a%s[%s] ? (@.b > %s)', gen.digits(3), gen.whole(0, 9), gen.digits(4)::numeric)::jsonpath",
        ["point"] = "gen.point()",
        ["lseg"] = "lseg(gen.point(), gen.point())",
        ["box"] = "box(gen.point(), gen.point())",
        ["line"] = "line(gen.point(), point(1e12, gen.whole(1, 99)))",
        ["circle"] = "circle(gen.point(), random() * 100)",
        ["polygon"] = "polygon(gen.whole(3, 6)::int, circle(gen.point(), 1 + random() * 100))",
        ["path"] = "(CASE WHEN random() < 0.5 THEN popen(path(polygon(4, circle(gen.point(), 5)))) ELSE path(polygon(3, circle(gen.point(), 5))) END)",
        ["real"] = "(CASE WHEN random() < 0.2 THEN gen.pick('NaN', 'Infinity', '-Infinity', '0', '-0', '1e-30', '3.4e38', '1e-45')::real "
            + "ELSE ((random() - 0.5) * power(10::float8, gen.whole(-37, 37)))::real END)",
        ["double precision"] = "(CASE WHEN random() < 0.2 THEN gen.pick('NaN', 'Infinity', '-Infinity', '0', '-0', '5e-324', '1.7e308')::float8 "
            + "ELSE (random() - 0.5) * power(10::float8, gen.whole(-300, 300)) END)",
        ["numeric"] = "(CASE WHEN random() < 0.2 THEN gen.pick('NaN', 'Infinity', '-Infinity', '0', '0.000', '1e1000', '1e-1000', '-0.50')::numeric "
            + "ELSE (gen.pick('-', '') || gen.digits(40) || gen.pick('', '.' || gen.digits(40)))::numeric END)",
        ["money"] = "((random() - 0.5) * power(10, gen.whole(0, 14)))::numeric::money",
        ["inet"] = "gen.pick(format('%s.%s.%s.%s/%s', gen.whole(0, 255), gen.whole(0, 255), gen.whole(0, 255), gen.whole(0, 255), gen.whole(0, 32)), "
            + "format('%s::%s', gen.digits(4), gen.digits(4)))::inet",
        ["cidr"] = "network(set_masklen('10.0.0.0'::inet + gen.whole(0, 16000000), gen.whole(0, 32)::int))",
        ["macaddr"] = "left(md5(random()::text), 12)::macaddr",
        ["macaddr8"] = "left(md5(random()::text), 16)::macaddr8",
        ["uuid"] = "gen_random_uuid()",
        ["pg_lsn"] = "'0/0'::pg_lsn + gen.whole(0, 1000000000000000)",
        ["date"] = "gen.day()",
        ["time without time zone"] = "(CASE WHEN random() < 0.1 THEN '24:00'::time ELSE gen.moment()::time END)",
        ["time with time zone"] = "format('%s%s', gen.pick('24:00', '01:02:03', '23:59:59.999999'), gen.pick('+00', '-15:59:59', '+05:30'))::timetz",
        ["timestamp without time zone"] = "gen.moment()",
        ["timestamp with time zone"] = "(gen.moment() AT TIME ZONE 'UTC')",
        ["interval"] = "gen.span()",
        ["bit"] = "gen.pick('0', '1')::bit",
        ["bit varying"] = "left(('x' || md5(random()::text))::bit(128)::text, gen.whole(0, 128)::int)::varbit",
        ["tsvector"] = "to_tsvector('simple', gen.word() || ' ' || gen.word() || ' it''s')",
        ["tsquery"] = "plainto_tsquery('simple', gen.word() || ' ' || gen.digits(3) || ' a')",
        ["aclitem"] = "makeaclitem(10, 10, gen.pick('SELECT', 'INSERT', 'EXECUTE', 'CONNECT'), random() < 0.5)",
        ["refcursor"] = "gen.word()::refcursor",
        ["txid_snapshot"] = Snapshot("txid_snapshot"),
        ["pg_snapshot"] = Snapshot("pg_snapshot"),
        ["regproc"] = Catalog("pg_proc", "regproc"),
        ["regprocedure"] = Catalog("pg_proc", "regprocedure"),
        ["regoper"] = Catalog("pg_operator", "regoper"),
        ["regoperator"] = Catalog("pg_operator", "regoperator"),
        ["regclass"] = Catalog("pg_class", "regclass"),
        ["regtype"] = Catalog("pg_type", "regtype"),

        // The server's own: those of other tests go while the rows are compared, and then they are numbers.
        ["regrole"] = Catalog("pg_roles WHERE rolname ^@ 'pg_'", "regrole"),
        ["regnamespace"] = Catalog("pg_namespace", "regnamespace"),
        ["regconfig"] = Catalog("pg_ts_config", "regconfig"),
        ["regdictionary"] = Catalog("pg_ts_dict", "regdictionary"),
        ["regcollation"] = Catalog("pg_collation", "regcollation"),
        ["pg_node_tree"] = "(SELECT proargdefaults FROM pg_proc WHERE proargdefaults IS NOT NULL ORDER BY random() LIMIT 1)",
        ["pg_ndistinct"] = "(SELECT stxdndistinct FROM pg_statistic_ext_data WHERE random() >= 0 LIMIT 1)",
        ["pg_dependencies"] = "(SELECT stxddependencies FROM pg_statistic_ext_data WHERE random() >= 0 LIMIT 1)",
        ["pg_mcv_list"] = "(SELECT stxdmcv FROM pg_statistic_ext_data WHERE random() >= 0 LIMIT 1)",
        ["information_schema.cardinal_number"] = "gen.whole(0, 1000)::int",
        ["information_schema.yes_or_no"] = "gen.pick('YES', 'NO')",
    };

    private static string Catalog(string table, string type) =>
        $"(SELECT oid::{type} FROM {table} OFFSET gen.whole(0, (SELECT count(*) - 1 FROM {table})) LIMIT 1)";

    private static string Snapshot(string type) =>
        $"SELECT format('%s:%s:%s', n, n + 9, gen.pick('', n + 2 || ',' || n + 5))::{type} FROM (SELECT gen.whole(1, 1000000) n OFFSET 0) q";
}

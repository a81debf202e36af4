using Npgsql;
using Weir.Cli.Tests.Support;

namespace Weir.Cli.Tests.Commands.Cdc;

/// <summary>Random values of each type of which there can be a column, as the command prints them, against what the server's to_jsonb makes of them.</summary>
public sealed class CdcTypeTests(TestPostgres postgres) : IClassFixture<TestPostgres>
{
    private const int Limit = 900_000;
    private const int ColumnsPerTable = 40;

    // The row types of tables of the catalog have some 30 fields, which are of the other types.
    private const int ValuesOfCatalogRows = 20;

    private const string OwnTypes = """
        CREATE TYPE mood AS ENUM ('sad', 'so "glad"', 'NULL', 'a,b', '');
        CREATE TYPE pair AS (a int, "b c" text, "d""e" text, m mood, deep text[], gone int, t timestamptz);
        ALTER TYPE pair DROP ATTRIBUTE gone;
        CREATE TYPE nested AS (p pair, ps pair[], js jsonb, f float8);
        CREATE TYPE nothing AS ();
        CREATE TYPE single AS (one text);
        CREATE DOMAIN percent AS int CHECK (VALUE IS NULL OR VALUE > -2147483648 OR true);
        CREATE DOMAIN share AS percent;
        CREATE DOMAIN names AS text[];
        CREATE DOMAIN pairs AS nested;
        CREATE TYPE span AS RANGE (SUBTYPE = float8);
        CREATE TYPE moods AS RANGE (SUBTYPE = mood);
        """;

    // Pseudo-types, of which there is no column, are no part of it.
    private const string Types = """
        SELECT t.oid::bigint AS oid, t.oid::regtype::text AS name, t.typtype::text AS kind, t.typbasetype::bigint AS base,
            CASE WHEN t.typsubscript = 'array_subscript_handler'::regproc AND t.typinput = 'array_in'::regproc THEN t.typelem::bigint ELSE 0 END AS element,
            coalesce((SELECT rngsubtype::bigint FROM pg_range WHERE rngtypid = t.oid), (SELECT rngtypid::bigint FROM pg_range WHERE rngmultitypid = t.oid), 0)
                AS part,
            coalesce((SELECT array_agg(a.atttypid::bigint ORDER BY a.attnum) FROM pg_attribute a
                WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped), '{}') AS fields,
            t.typrelid <> 0 AND t.typnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) AS iscatalog
        FROM pg_type t WHERE t.typtype <> 'p' AND t.typoutput <> 0 AND t.typnamespace <> 'gen'::regnamespace
            AND t.typnamespace::regnamespace::text NOT LIKE 'pg_toast%' ORDER BY iscatalog, t.oid
        """;

    private static readonly string[] WithoutValues = ["gtsvector", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary"];

    [Theory(Timeout = Limit)]
    [InlineData(100, false)]
    [InlineData(1_000, true, Explicit = true)]
    public async Task Values_OfEachType_AreThoseOfToJsonb(int values, bool alsoCatalogRows)
    {
        await using TestDatabase database = await postgres.CreateDatabaseAsync();
        await database.ExecuteAsync($"{OwnTypes}\n{RandomValues.Functions}\n{RandomValues.Statistics}");
        await using NpgsqlDataSource source = NpgsqlDataSource.Create($"{database.Address};Timezone=UTC;Command Timeout=600");
        List<TypeRow> types = await TypesAsync(source);
        types.RemoveAll(t => t.IsCatalog && !alsoCatalogRows);

        // Those with a pseudo-type in them. All others can be columns.
        HashSet<long> columns = [.. types.Select(static t => t.Oid)];
        while (columns.RemoveWhere(oid => types.Single(t => t.Oid == oid).Parts.Any(part => part != 0 && !columns.Contains(part))) > 0)
        {
        }

        Assert.Equal(types.Where(t => !columns.Contains(t.Oid)), await RefusedAsync(source, types));
        types.RemoveAll(t => !columns.Contains(t.Oid));
        await CreateFunctionsAsync(source, types);
        await database.ExecuteAsync("CREATE TABLE first (id int PRIMARY KEY)");
        LoadResult setup = await CdcAsync(database, "--setup", "--tables", "first");
        Assert.True(setup.ExitCode == 0, setup.Error);
        TypeRow[][] tables = [.. types.Chunk(ColumnsPerTable)];
        List<string> wrong = [];
        for (int i = 0; i < tables.Length; i++)
        {
            wrong.AddRange(await DifferencesAsync(database, source, tables[i], $"t{i}", values));
        }

        Assert.True(wrong.Count == 0, string.Join('\n', wrong));
        TestContext.Current.SendDiagnosticMessage($"{types.Count} types; without values: {string.Join(", ", WithoutValues)}");
    }

    private static async Task<List<TypeRow>> TypesAsync(NpgsqlDataSource source)
    {
        List<TypeRow> types = [];
        await using NpgsqlCommand query = source.CreateCommand(Types);
        await using NpgsqlDataReader row = await query.ExecuteReaderAsync(TestContext.Current.CancellationToken);
        while (await row.ReadAsync(TestContext.Current.CancellationToken))
        {
            types.Add(new TypeRow(
                row.GetInt64(0), row.GetString(1), row.GetString(2)[0], row.GetInt64(3), row.GetInt64(4), row.GetInt64(5), row.GetFieldValue<long[]>(6),
                row.GetBoolean(7)));
        }

        // Rows of catalogs have few values, and so have arrays of them.
        HashSet<long> catalogs = [.. types.Where(static t => t.IsCatalog).Select(static t => t.Oid)];
        return [.. types.Select(t => t with { IsCatalog = t.IsCatalog || catalogs.Contains(t.Element) }).OrderBy(static t => t.IsCatalog)];
    }

    // Those that the server has no column for.
    private static async Task<List<TypeRow>> RefusedAsync(NpgsqlDataSource source, List<TypeRow> types)
    {
        List<TypeRow> refused = [];
        await using NpgsqlConnection connection = await source.OpenConnectionAsync(TestContext.Current.CancellationToken);
        foreach (TypeRow type in types)
        {
            try
            {
                await ExecuteAsync(connection, $"CREATE TEMP TABLE probe (c {type.Name}); DROP TABLE probe");
            }
            catch (PostgresException e) when (e.SqlState == PostgresErrorCodes.InvalidTableDefinition)
            {
                refused.Add(type);
            }
        }

        return refused;
    }

    private static async Task CreateFunctionsAsync(NpgsqlDataSource source, List<TypeRow> types)
    {
        Dictionary<long, TypeRow> byOid = types.ToDictionary(static t => t.Oid);
        await using NpgsqlConnection connection = await source.OpenConnectionAsync(TestContext.Current.CancellationToken);
        await ExecuteAsync(connection, "SET check_function_bodies = off");
        foreach (TypeRow type in types)
        {
            await ExecuteAsync(
                connection, $"CREATE FUNCTION gen.f{type.Oid}() RETURNS {type.Name} VOLATILE LANGUAGE sql AS $gen$SELECT ({Value(type)})::{type.Name}$gen$");
        }

        string Value(TypeRow type)
        {
            if (RandomValues.Expressions.TryGetValue(type.Name, out string? expression))
            {
                return expression;
            }

            // A part of each, and null now and then.
            string Part(long oid) => byOid.TryGetValue(oid, out _) ? $"CASE WHEN random() < 0.9 THEN gen.f{oid}() END" : "NULL";
            string part = Part(type.Part);
            switch (type.Kind)
            {
                case 'd':
                    return Part(type.Base);
                case 'e':
                    return $"(enum_range(NULL::{type.Name}))[1 + floor(random() * cardinality(enum_range(NULL::{type.Name})))]";
                case 'c':
                    return $"ROW({string.Join(", ", type.Fields.Select(Part))})";
                case 'r':
                    return $"SELECT CASE WHEN random() < 0.1 THEN 'empty' ELSE {type.Name}(least(x, y), greatest(x, y), gen.pick('[]', '[)', '(]', '()')) END "
                        + $"FROM (SELECT {part} x, {part} y OFFSET 0) q";
                case 'm':
                    return $"{type.Name}(gen.f{type.Part}(), gen.f{type.Part}())";
            }

            if (type.Element == 0)
            {
                Assert.Contains(type.Name, WithoutValues);
                return "NULL";
            }

            // Of no, one and two dimensions, and with other bounds than usual.
            string one = Part(type.Element);
            return $"SELECT CASE floor(random() * 5) WHEN 0 THEN '{{}}'::{type.Name} WHEN 1 THEN array_fill(x, ARRAY[2, 2]) "
                + $"WHEN 2 THEN array_fill(y, ARRAY[2], ARRAY[-3]) ELSE array_append(array_append(array_append(NULL::{type.Name}, x), y), x) END "
                + $"FROM (SELECT ({one})::{byOid[type.Element].Name} x, ({one})::{byOid[type.Element].Name} y OFFSET 0) q";
        }
    }

    private static async Task<List<string>> DifferencesAsync(TestDatabase database, NpgsqlDataSource source, TypeRow[] types, string table, int values)
    {
        int count = types.Any(static t => t.IsCatalog) ? ValuesOfCatalogRows : values;
        await using NpgsqlConnection connection = await source.OpenConnectionAsync(TestContext.Current.CancellationToken);
        await ExecuteAsync(connection, $"CREATE TABLE {table} (id int PRIMARY KEY, {string.Join(", ", types.Select(static t => $"c{t.Oid} {t.Name}"))})");
        await ExecuteAsync(connection, $"ALTER PUBLICATION items SET TABLE {table}");
        await ExecuteAsync(
            connection, $"INSERT INTO {table} SELECT i, {string.Join(", ", types.Select(static t => $"gen.f{t.Oid}()"))} FROM generate_series(1, {count}) i");
        LoadResult run = await CdcAsync(database);
        Assert.True(run.ExitCode == 0, run.Error);
        await ExecuteAsync(connection, "CREATE TEMP TABLE got (row jsonb)");
        await using (NpgsqlCommand insert = new("INSERT INTO got SELECT (line::jsonb) -> 'new' FROM unnest($1::text[]) line", connection))
        {
            insert.Parameters.Add(new NpgsqlParameter<string[]> { TypedValue = [.. run.Lines.Where(static l => l.Length > 0)] });
            Assert.Equal(count, await insert.ExecuteNonQueryAsync(TestContext.Current.CancellationToken));
        }

        List<string> found = [];
        Dictionary<string, string> names = types.ToDictionary(static t => $"c{t.Oid}", static t => t.Name);
        await using NpgsqlCommand compare = new(
            $"""
            SELECT key, count(*), min(theirs::text), min(ours::text) FROM (
                SELECT k.key, k.value AS theirs, got.row -> k.key AS ours
                FROM {table} t JOIN got ON (got.row ->> 'id')::int = t.id CROSS JOIN LATERAL jsonb_each(to_jsonb(t)) k) each
            WHERE theirs IS DISTINCT FROM ours GROUP BY key
            """,
            connection);
        await using NpgsqlDataReader row = await compare.ExecuteReaderAsync(TestContext.Current.CancellationToken);
        while (await row.ReadAsync(TestContext.Current.CancellationToken))
        {
            found.Add($"{names[row.GetString(0)]}: {row.GetInt64(1)} differ, as {row.GetString(2)} and {(row.IsDBNull(3) ? "nothing" : row.GetString(3))}");
        }

        return found;
    }

    private static async Task ExecuteAsync(NpgsqlConnection connection, string statements)
    {
        await using NpgsqlCommand command = new(statements, connection);
        await command.ExecuteNonQueryAsync(TestContext.Current.CancellationToken);
    }

    private static Task<LoadResult> CdcAsync(TestDatabase database, params string[] options)
    {
        CliUnderTest cli = new();
        cli.Variables["WEIR_SOURCE"] = database.Address;
        return cli.RunAsync(["weir-work", "cdc", "--publication", "items", "--slot", database.Name, "--quiet", "--idle", "100ms", .. options]);
    }

    private sealed record TypeRow(long Oid, string Name, char Kind, long Base, long Element, long Part, long[] Fields, bool IsCatalog)
    {
        public IEnumerable<long> Parts => [Base, Element, Part, .. Fields];
    }
}

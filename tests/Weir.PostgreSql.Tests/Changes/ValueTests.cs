using Npgsql;
using Weir.PostgreSql.Tests.Servers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>Values of all types, as the stream and the snapshot have them, against what a query returns.</summary>
public sealed class ValueTests(PostgresServer server) : ChangeTest(server)
{
    private static readonly string[] Values =
    [
        "true", "1::smallint", "-2", "9223372036854775807", "1.5::real", "'-Infinity'::float8", "'NaN'::float8", "12345678901234567890.12340",
        "-0.00050::numeric", "0::numeric", "10000::numeric", "-99990000.5::numeric(20,3)", "0.0001::numeric", "'grün'::text", "''::varchar(5)", "'ab'::char(4)",
        "'n'::name",
        """'{"a": [1, null]}'::json""", """'{"a": [1, null]}'::jsonb""", "'<a/>'::xml", "'\\x00ff'::bytea",
        "'0199f3a2-0000-7000-8000-00000000abcd'::uuid",
        "'2024-02-29'::date", "'infinity'::date", "'23:59:59.999999'::time", "'1999-12-31 23:59:59.5'::timestamp",
        "'2026-07-01 12:00:00.000001+02'::timestamptz",
        "'infinity'::timestamptz", "'1 month 2 days 3 hours'::interval", "4000000000::oid", "'{1,2,3}'::int[]", "'{}'::text[]", "'{a,NULL}'::text[]",
        "'{1.5,2}'::numeric[]", "'{t,f}'::bool[]", "'{2024-01-01}'::date[]", "NULL::int", "'[2:3]={7,8}'::int[]", "'{1,NULL}'::bigint[]",
        """ARRAY['a "b", {c}', 'NULL', '', E'\\\\ \n', NULL]""",
        "'-1 years -2 months 3 days -4:05:06.7'::interval", "'1 year'::interval", "'-infinity'::timestamp",
        "'0001-01-01'::date", "ARRAY['\\x0102'::bytea, NULL]", "ARRAY['1 day 00:00:00.000001'::interval]", "0.1::float8",
        "'1e-30'::real", "'9999-12-31 23:59:59.999999+00'::timestamptz", "''::bytea", "'{\"a,b\"}'::varchar[]",
    ];

    [Fact(Timeout = Limit)]
    public async Task Values_OfTheTypes_AreThoseOfAQuery()
    {
        // The text of values is the same, whatever the database has set for those that people read.
        await ExecuteAsync(
            $"""
            ALTER DATABASE {Slot} SET datestyle = 'German'; ALTER DATABASE {Slot} SET intervalstyle = 'iso_8601';
            ALTER DATABASE {Slot} SET extra_float_digits = 0; ALTER DATABASE {Slot} SET bytea_output = 'escape';
            ALTER DATABASE {Slot} SET timezone = 'Asia/Kolkata'
            """);
        string table = Name("types");
        string columns = string.Join(", ", Values.Select(static (v, i) => $"{v} AS c{i}"));
        await ExecuteAsync($"CREATE TABLE {table} AS SELECT {columns}");
        await ExecuteAsync($"ALTER PUBLICATION {Publication} SET TABLE {table} ; ALTER TABLE {table} REPLICA IDENTITY FULL");
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { InitialSnapshot = true });
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        PostgresChange snapshot = (await TakeAsync(source, 1))[0];
        await ExecuteAsync($"INSERT INTO {table} SELECT * FROM {table}");
        PostgresChange inserted = (await TakeAsync(source, 1))[0];
        await using NpgsqlCommand query = Source.CreateCommand($"SELECT * FROM {table} LIMIT 1");
        await using NpgsqlDataReader reader = await query.ExecuteReaderAsync();
        await reader.ReadAsync();
        for (int i = 0; i < Values.Length; i++)
        {
            object? expected = await reader.IsDBNullAsync(i) ? null : Expected(reader, i);
            Assert.True(Equals(expected, snapshot.New![i]), $"{Values[i]}: {expected} and {snapshot.New[i]}");
            Assert.True(Equals(expected, inserted.New![i]), $"{Values[i]}: {expected} and {inserted.New[i]}");
        }

        Assert.Equal((PostgresChangeKind.Snapshot, PostgresChangeKind.Insert), (snapshot.Kind, inserted.Kind));
        Assert.Same(snapshot.Relation, inserted.Relation);
        PostgresRow row = inserted.New!;
        Assert.Equal((true, (short)1, -2, long.MaxValue), (row.Get<bool>(0), row.Get<short>(1), row.Get<int?>(2), row.Get<long>("c3")));
        Assert.Equal(("12345678901234567890.12340", "-0.00050", "0"), (row.Get<string>(7), row.Get<string>(8), row.Get<string>(9)));
        Assert.Equal([1, 2, 3], row.Get<int?[]>(30)!);
        Assert.Equal([1, null], row.Get<long?[]>(38)!);
        Assert.Null(row.Get<int?>(36));
        Assert.Throws<InvalidCastException>(() => row.Get<int>(36));
        Assert.Equal(("{1,2,3}", "-2", "2024-02-29"), (row.Get<string>(30), row.Get<string>(2), row.Get<string>(22)));
    }

    [Fact(Timeout = Limit)]
    public async Task Values_OfTypesOfTheDatabase_AreThoseOfTheirBase()
    {
        string table = Name("own");
        string schema = SqlName.Quote(Schema);
        await ExecuteAsync($"CREATE TYPE {schema}.mood AS ENUM ('sad', 'glad'); CREATE DOMAIN {schema}.percent AS int CHECK (VALUE <= 100)");
        await ExecuteAsync($"CREATE DOMAIN {schema}.share AS {schema}.percent; CREATE TYPE {schema}.pair AS (a int, b text)");
        await ExecuteAsync(
            $"CREATE TABLE {table} (id int PRIMARY KEY, m {schema}.mood, p {schema}.share, ms {schema}.mood[], x {schema}.pair, big numeric, "
            + "generated int GENERATED ALWAYS AS (id + 1) STORED, acl aclitem, net inet, span int4range, grid int[], early date, late timestamptz)");
        await ExecuteAsync($"ALTER PUBLICATION {Publication} SET TABLE {table}");
        string insert = $"INSERT INTO {table} VALUES (#, 'glad', 7, '{{sad,glad}}', '(1,b)', 1e40, DEFAULT, makeaclitem(10, 10, 'SELECT', false), "
            + "'10.0.0.1/8', '[1,5)', '{{1,2},{3,4}}', '0044-03-15 BC', '10000-01-01 00:00:00+00')";
        await ExecuteAsync(insert.Replace('#', '1'));
        await using PostgresChangeSource stream = await NewStreamAsync(Quiet with { InitialSnapshot = true });
        await using IWorkSource<PostgresChange> source = await stream.OpenSourceAsync();
        List<PostgresChange> changes = await TakeAsync(source, 1);
        await ExecuteAsync(insert.Replace('#', '2'));
        changes.AddRange(await TakeAsync(source, 1));
        foreach (PostgresChange change in changes)
        {
            PostgresRow row = change.New!;
            Assert.Equal(("glad", 7), (row["m"], row["p"]));
            Assert.Equal(["sad", "glad"], (string[])row["ms"]!);
            Assert.Equal(("(1,b)", "10.0.0.1/8", "[1,5)"), (row["x"], row["net"], row["span"]));
            Assert.Equal("{{1,2},{3,4}}", row["grid"]);
            Assert.Throws<InvalidCastException>(() => row.Get<int[]>("grid"));
            Assert.Throws<OverflowException>(() => row["early"]);
            Assert.Throws<OverflowException>(() => row["late"]);
            Assert.Equal(("0044-03-15 BC", "10000-01-01 00:00:00+00"), (row.Get<string>("early"), row.Get<string>("late")));
            Assert.Throws<OverflowException>(() => row["big"]);
            Assert.Equal("1" + new string('0', 40), row.Get<string>("big"));
            Assert.Equal("weir=r/weir", row["acl"]);
            Assert.False(change.Relation.HasColumn("generated"));
        }

        Assert.Same(changes[0].Relation, changes[1].Relation);

        // A type that was not there when the connections were opened.
        await ExecuteAsync($"CREATE TYPE {schema}.size AS ENUM ('s', 'l'); CREATE DOMAIN {schema}.part AS float8");
        await ExecuteAsync($"ALTER TABLE {table} ADD size {schema}.size, ADD part {schema}.part; UPDATE {table} SET size = 'l', part = 0.5 WHERE id = 1");
        PostgresRow fresh = (await TakeAsync(source, 1))[0].New!;
        Assert.Equal(("l", 0.5), (fresh["size"], fresh["part"]));
    }

    private static object Expected(NpgsqlDataReader reader, int i)
    {
        object value = reader.GetDataTypeName(i) switch
        {
            "date" => reader.GetFieldValue<DateOnly>(i),
            "date[]" => reader.GetFieldValue<DateOnly[]>(i),
            "time without time zone" => reader.GetFieldValue<TimeOnly>(i),
            "interval" => reader.GetFieldValue<NpgsqlTypes.NpgsqlInterval>(i),
            "interval[]" => reader.GetFieldValue<NpgsqlTypes.NpgsqlInterval[]>(i),
            "bigint[]" => reader.GetFieldValue<long?[]>(i),
            _ => reader.GetValue(i),
        };
        return value;
    }

    private static new bool Equals(object? expected, object? actual) => (expected, actual) switch
    {
        (Array one, Array other) => one.Length == other.Length && one.Cast<object?>().Zip(other.Cast<object?>()).All(static v => Equals(v.First, v.Second)),
        _ => object.Equals(expected, actual) && expected?.GetType() == actual?.GetType(),
    };
}

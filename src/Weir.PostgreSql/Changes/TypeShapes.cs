namespace Weir.PostgreSql;

/// <summary>The shapes of types, from the catalog of the database. Those of the frequent built-in ones are known.</summary>
internal sealed class TypeShapes(Database database)
{
    // The types that others consist of come with them.
    private const string Query = """
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
        """;

    private static readonly uint[] Known =
    [
        TypeOid.Bool, TypeOid.Bytea, TypeOid.Int8, TypeOid.Int2, TypeOid.Int4, TypeOid.Text, TypeOid.Oid, TypeOid.Json, TypeOid.Float4, TypeOid.Float8,
        TypeOid.Bpchar, TypeOid.Varchar, TypeOid.Date, TypeOid.Time, TypeOid.Timestamp, TypeOid.TimestampTz, TypeOid.Interval, TypeOid.Numeric, TypeOid.Uuid,
        TypeOid.Jsonb,
    ];

    private readonly Dictionary<uint, TypeShape> _shapes = Known.ToDictionary(static t => t, static t => new TypeShape { BaseOid = t });

    /// <summary>The shape of a type that was loaded; of one that the database does not have any more, that of a text.</summary>
    public TypeShape this[uint type] => _shapes.GetValueOrDefault(type) ?? TypeShape.Text;

    public async ValueTask LoadAsync(IEnumerable<uint> types, CancellationToken cancellationToken)
    {
        long[] unknown = [.. types.Where(t => !_shapes.ContainsKey(t)).Distinct().Select(static t => (long)t)];
        if (unknown.Length == 0)
        {
            return;
        }

        List<Entry> found = await database.QueryAsync(
            Query,
            static r => new Entry(
                (uint)r.GetInt64(0),
                r.GetString(1)[0],
                (uint)r.GetInt64(2),
                (uint)r.GetInt64(3),
                r.IsDBNull(4) ? ',' : r.GetString(4)[0],
                r.IsDBNull(5) ? [] : r.GetFieldValue<string[]>(5),
                r.IsDBNull(6) ? [] : r.GetFieldValue<long[]>(6)),
            cancellationToken,
            Parameter.Of(unknown)).ConfigureAwait(false);
        Dictionary<uint, Entry> entries = found.ToDictionary(static e => e.Oid);
        foreach (uint type in entries.Keys)
        {
            Add(type, entries);
        }
    }

    // No type contains itself.
    private TypeShape Add(uint type, Dictionary<uint, Entry> entries)
    {
        if (_shapes.TryGetValue(type, out TypeShape? known) || !entries.TryGetValue(type, out Entry? entry))
        {
            return known ?? TypeShape.Text;
        }

        TypeShape? element = entry.Element == 0 ? null : Add(entry.Element, entries);
        bool isOfEnums = entries.TryGetValue(entry.Element, out Entry? one) && one.Kind == 'e';
        return _shapes[type] = entry.Kind switch
        {
            'd' => Add(entry.Base, entries),
            'c' => new TypeShape { Fields = [.. entry.Names.Select((name, i) => (name, Add((uint)entry.Types[i], entries)))] },
            _ => new TypeShape
            {
                BaseOid = type < TypeOid.FirstOfDatabase ? type : isOfEnums ? TypeOid.TextArray : 0,
                Element = element,
                Delimiter = entry.Delimiter,
            },
        };
    }

    private sealed record Entry(uint Oid, char Kind, uint Base, uint Element, char Delimiter, string[] Names, long[] Types);
}

using Npgsql.Replication.PgOutput.Messages;

namespace Weir.PostgreSql;

/// <summary>
/// The tables that a source has seen, in the definition that holds for the next change. The server sends a definition before the first change of a table, and
/// again when it may have changed.
/// </summary>
internal sealed class RelationCache(Database database)
{
    private static readonly string TableQuery = SqlFiles.Plain.Read("table_keys");

    private readonly Dictionary<uint, PostgresRelation> _relations = [];
    private readonly TypeShapes _types = new(database);
    private readonly HashSet<uint> _changed = [];

    public PostgresRelation this[uint oid] => _relations.TryGetValue(oid, out PostgresRelation? relation)
        ? relation
        : throw new InvalidDataException($"The replication stream has a change of table {oid}, which it has not described.");

    /// <summary>Whether a change is the first since the definition of its table changed.</summary>
    public bool IsNewVersion(uint oid) => _changed.Count > 0 && _changed.Contains(oid);

    public void KnowVersion(uint oid)
    {
        if (_changed.Count > 0)
        {
            _changed.Remove(oid);
        }
    }

    /// <summary>Reads a message that describes a table.</summary>
    public ValueTask DefineAsync(RelationMessage message, CancellationToken cancellationToken)
    {
        // The whole row is no key, so the primary key is looked up.
        bool hasKey = message.ReplicaIdentity
            is RelationMessage.ReplicaIdentitySetting.Default or RelationMessage.ReplicaIdentitySetting.IndexWithIndIsReplIdent;
        (string, uint, int, bool)[] columns =
        [
            .. message.Columns.Select(column => (
                column.ColumnName,
                column.DataTypeId,
                column.TypeModifier,
                hasKey && column.Flags.HasFlag(RelationMessage.Column.ColumnFlags.PartOfKey))),
        ];
        string schema = message.Namespace.Length == 0 ? "pg_catalog" : message.Namespace;
        return DefineAsync(message.RelationId, schema, message.RelationName, hasKey, columns, cancellationToken);
    }

    public async ValueTask DefineAsync(
        uint oid,
        string schema,
        string name,
        bool hasKey,
        IReadOnlyList<(string Name, uint Type, int Modifier, bool IsKey)> columns,
        CancellationToken cancellationToken)
    {
        (string[] primaryKey, string? root, string[] partitionColumns) = (await database.QueryAsync(
            TableQuery,
            static r => (r.GetFieldValue<string[]>(0), r.IsDBNull(1) ? null : r.GetString(1), r.GetFieldValue<string[]>(2)),
            cancellationToken,
            Parameter.Of((long)oid)).ConfigureAwait(false))[0];
        HashSet<string> keys = hasKey ? [.. columns.Where(static c => c.IsKey).Select(static c => c.Name)] : [.. primaryKey];
        await _types.LoadAsync(columns.Select(static c => c.Type), cancellationToken).ConfigureAwait(false);
        PostgresRelation? before = _relations.GetValueOrDefault(oid);
        var relation = new PostgresRelation(
            oid,
            schema,
            name,
            (before?.Version ?? 0) + 1,
            [.. columns.Select(c => new PostgresColumn(c.Name, c.Type, c.Modifier, keys.Contains(c.Name), _types[c.Type]))],
            root,
            partitionColumns);
        if (before is not null && relation.IsSameAs(before))
        {
            return;
        }

        _relations[oid] = relation;
        if (before is not null)
        {
            _changed.Add(oid);
        }
    }
}

/// <summary>The shapes of types, from the catalog of the database. Those of the frequent built-in ones are known.</summary>
internal sealed class TypeShapes(Database database)
{
    private static readonly string ShapesQuery = SqlFiles.Plain.Read("type_shapes");

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
            ShapesQuery,
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

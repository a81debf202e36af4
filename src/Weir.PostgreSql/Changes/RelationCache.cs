using Npgsql.Replication.PgOutput.Messages;

namespace Weir.PostgreSql;

/// <summary>
/// The tables that a source has seen, in the definition that holds for the next change. The server sends a definition before the first change of a table, and
/// again when it may have changed.
/// </summary>
internal sealed class RelationCache(Database database)
{
    private const string PrimaryKeyQuery = """
        SELECT a.attname FROM pg_catalog.pg_index i
        JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
        WHERE i.indrelid = $1::bigint::oid AND i.indisprimary
        """;

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
        HashSet<string> keys = hasKey
            ? [.. columns.Where(static c => c.IsKey).Select(static c => c.Name)]
            : [.. await database.QueryAsync(PrimaryKeyQuery, static r => r.GetString(0), cancellationToken, Parameter.Of((long)oid)).ConfigureAwait(false)];
        await _types.LoadAsync(columns.Select(static c => c.Type), cancellationToken).ConfigureAwait(false);
        PostgresRelation? before = _relations.GetValueOrDefault(oid);
        var relation = new PostgresRelation(
            oid,
            schema,
            name,
            (before?.Version ?? 0) + 1,
            [.. columns.Select(c => new PostgresColumn(c.Name, c.Type, c.Modifier, keys.Contains(c.Name), _types[c.Type]))]);
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

namespace Weir.PostgreSql;

/// <summary>A column of a table whose changes are read. Immutable.</summary>
public sealed class PostgresColumn
{
    internal PostgresColumn(string name, uint typeOid, int typeModifier, bool isKey, uint baseOid)
    {
        Name = name;
        TypeOid = typeOid;
        TypeModifier = typeModifier;
        IsKey = isKey;
        BaseOid = baseOid;
    }

    /// <summary>The name.</summary>
    public string Name { get; }

    /// <summary>The OID of the column's type in the catalog of the database, such as 23 for <c>integer</c>.</summary>
    public uint TypeOid { get; }

    /// <summary>The type modifier, such as a length, as the server stores it; -1 if the type has none.</summary>
    public int TypeModifier { get; }

    /// <summary>Whether the column is part of the table's key: of its replica identity, or of its primary key if the replica identity is all columns.</summary>
    public bool IsKey { get; }

    /// <summary>The built-in type whose format the values have: for a domain, its base type. 0 if there is none.</summary>
    internal uint BaseOid { get; }
}

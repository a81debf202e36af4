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

    /// <summary>The identity of the column's type in the catalog of the database, such as 23 for <c>integer</c>.</summary>
    public uint TypeOid { get; }

    /// <summary>What the type was declared with, such as a length, as the server keeps it; -1 for nothing.</summary>
    public int TypeModifier { get; }

    /// <summary>Whether the column is one of the table's key: of its replica identity, or of its primary key if that is the whole row.</summary>
    public bool IsKey { get; }

    /// <summary>The built-in type that the values are like: for a domain, that of its base. 0 if there is none.</summary>
    internal uint BaseOid { get; }
}

namespace Weir.PostgreSql;

/// <summary>A column of a table whose changes are read. Immutable.</summary>
public sealed class PostgresColumn
{
    internal PostgresColumn(string name, uint typeOid, int typeModifier, bool isKey, TypeShape shape)
    {
        Name = name;
        TypeOid = typeOid;
        TypeModifier = typeModifier;
        IsKey = isKey;
        Shape = shape;
    }

    /// <summary>The name.</summary>
    public string Name { get; }

    /// <summary>The OID of the column's type in the catalog of the database, such as 23 for <c>integer</c>.</summary>
    public uint TypeOid { get; }

    /// <summary>The type modifier, such as a length, as the server stores it; -1 if the type has none.</summary>
    public int TypeModifier { get; }

    /// <summary>Whether the column is part of the table's key: of its replica identity, or of its primary key if the replica identity is all columns.</summary>
    public bool IsKey { get; }

    /// <summary>What the text of the values is made of.</summary>
    internal TypeShape Shape { get; }
}

namespace Weir.PostgreSql;

/// <summary>What the text of a type's values is made of. That of a domain is that of its base. Immutable.</summary>
internal sealed class TypeShape
{
    /// <summary>Of values that are their text.</summary>
    public static TypeShape Text { get; } = new();

    /// <summary>The built-in type whose format the values have; 0 if there is none.</summary>
    public uint BaseOid { get; init; }

    /// <summary>The elements of an array; null for all others.</summary>
    public TypeShape? Element { get; init; }

    /// <summary>What is between two elements.</summary>
    public char Delimiter { get; init; }

    /// <summary>The fields of a composite type; null for all others.</summary>
    public IReadOnlyList<(string Name, TypeShape Shape)>? Fields { get; init; }
}

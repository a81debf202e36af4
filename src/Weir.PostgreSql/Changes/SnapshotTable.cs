namespace Weir.PostgreSql;

/// <summary>A table of a publication, and how its rows are read.</summary>
/// <param name="Oid">The identity of the table.</param>
/// <param name="Schema">Its schema.</param>
/// <param name="Name">Its name.</param>
/// <param name="Filter">Which of its rows are published; null for all.</param>
/// <param name="IncludesPartitions">Whether the rows of its partitions are its own.</param>
internal sealed record SnapshotTable(uint Oid, string Schema, string Name, string? Filter, bool IncludesPartitions)
{
    /// <summary>The columns that are published.</summary>
    public List<(string Name, uint Type, int Modifier, bool IsKey)> Columns { get; } = [];

    /// <summary>Whether the type of each column has no binary form, so that its values are read as text.</summary>
    public List<bool> IsText { get; } = [];

    public string Query
    {
        get
        {
            IEnumerable<string> columns = Columns.Select((c, i) => SqlName.Quote(c.Name) + (IsText[i] ? "::text" : ""));
            string only = IncludesPartitions ? "" : "ONLY ";
            string where = Filter is null ? "" : $" WHERE {Filter}";
            return $"COPY (SELECT {string.Join(", ", columns)} FROM {only}{SqlName.Quote(Schema)}.{SqlName.Quote(Name)}{where}) TO STDOUT (FORMAT BINARY)";
        }
    }
}

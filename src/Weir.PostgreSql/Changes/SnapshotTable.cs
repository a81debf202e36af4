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

    public string Query
    {
        get
        {
            string columns = string.Join(", ", Columns.Select(static c => SqlName.Quote(c.Name)));
            string only = IncludesPartitions ? "" : "ONLY ";
            string where = Filter is null ? "" : $" WHERE {Filter}";
            return $"SELECT {columns} FROM {only}{SqlName.Quote(Schema)}.{SqlName.Quote(Name)}{where}";
        }
    }
}

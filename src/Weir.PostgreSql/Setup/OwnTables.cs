namespace Weir.PostgreSql;

/// <summary>
/// Which tables of a database are Weir's own. A stream that took their changes would feed itself: each acknowledgement changes the table of checkpoints, and
/// each change that goes into a queue of the same database is a row of its table.
/// </summary>
/// <remarks>
/// A table is known by its name and its columns, in whatever schema, and not by what the database has now: changes come later than they were made, when a
/// schema may be gone. The columns are those that tables of all versions have.
/// </remarks>
internal static class OwnTables
{
    private static readonly (string Name, bool IsPrefix, string[] Columns)[] Known =
    [
        ("parts", false, ["part", "version", "settings"]),
        ("checkpoints", false, ["name", "position", "saved"]),
        ("runs", false, ["name", "epoch", "by_key"]),
        ("run_items", false, ["run", "item"]),
        ("inbox", false, ["inbox", "origin", "place", "time"]),
        ("consumers", false, ["id", "queue", "host", "lease_until"]),
        ("published", false, ["queue", "origin", "places", "added", "time"]),
        ("dead_letters", false, ["queue", "id", "source", "reason", "error", "attempts", "time", "payload"]),
        ("queue_", true, ["id", "due", "consumer", "delivery", "attempt", "origin", "place", "key", "payload"]),
        ("packs_", true, ["id", "due", "consumer", "delivery", "size", "origins", "places", "payloads"]),
    ];

    /// <summary>The first characters of the names, of which a table has to have one.</summary>
    public static string[] Beginnings => [.. Known.Select(static k => k.Name)];

    /// <summary>Whether a table is one of them.</summary>
    public static bool Has(string table, IEnumerable<string> columns)
    {
        foreach ((string name, bool isPrefix, string[] required) in Known)
        {
            if (isPrefix ? table.StartsWith(name, StringComparison.Ordinal) : table == name)
            {
                return required.All(columns.ToHashSet(StringComparer.Ordinal).Contains);
            }
        }

        return false;
    }
}

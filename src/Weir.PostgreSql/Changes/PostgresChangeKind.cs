namespace Weir.PostgreSql;

/// <summary>What has happened to a row or a table.</summary>
public enum PostgresChangeKind
{
    /// <summary>A row of the initial snapshot: it was there when the slot was created.</summary>
    Snapshot,

    /// <summary>A row was inserted.</summary>
    Insert,

    /// <summary>A row was updated.</summary>
    Update,

    /// <summary>A row was deleted.</summary>
    Delete,

    /// <summary>All rows of the table were deleted by TRUNCATE. A statement that truncates several tables is one change for each.</summary>
    Truncate,
}

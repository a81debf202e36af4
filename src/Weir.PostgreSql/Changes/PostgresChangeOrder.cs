namespace Weir.PostgreSql;

/// <summary>
/// Which changes a host processes one after another. The source gives changes that belong together the same <see cref="WorkItem{T}.Key"/>; the host needs
/// <see cref="WorkHostOptions{T}.PartitionBy"/><c> = item => item.Key</c>.
/// </summary>
public enum PostgresChangeOrder
{
    /// <summary>
    /// Changes of the same row, by the key of its table. A change of the key itself, a truncate and the first change after ALTER TABLE are delivered alone:
    /// when everything before is acknowledged, and before everything after. The changes of a table without a key are processed one after another.
    /// </summary>
    Key,

    /// <summary>None: any change may be processed before any other.</summary>
    None,

    /// <summary>Changes of the same table.</summary>
    Relation,

    /// <summary>Changes of the same transaction.</summary>
    Transaction,

    /// <summary>All changes, in the order in which their transactions were committed.</summary>
    Global,
}

using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>What the changes of a transaction have in common, or the rows of a table in a snapshot.</summary>
/// <param name="id">Its number.</param>
/// <param name="commitLsn">Where it was committed.</param>
/// <param name="commitTime">When it was committed.</param>
/// <param name="slot">The slot.</param>
/// <param name="table">The table of a snapshot; null for a transaction.</param>
internal sealed class ChangeTransaction(uint id, ulong commitLsn, DateTimeOffset commitTime, string slot, string? table = null)
{
    private const int PartBits = 31;

    private readonly string _origin = Origin(slot, commitLsn, "", table);

    public uint Id => id;

    public ulong CommitLsn => commitLsn;

    public DateTimeOffset CommitTime => commitTime;

    /// <summary>The identity of a change. Those after the first 2^31 are counted in parts, because the place in an identity has 31 bits.</summary>
    public WorkId IdOf(long index) => index <= int.MaxValue
        ? new WorkId(_origin, (int)index)
        : new WorkId(Origin(slot, commitLsn, $"+{index >> PartBits}", table), (int)(index & int.MaxValue));

    // A table may have any name, so the part is not behind it.
    private static string Origin(string slot, ulong commitLsn, string part, string? table) =>
        $"{slot}:{new NpgsqlLogSequenceNumber(commitLsn)}{part}{(table is null ? "" : ":")}{table}";
}

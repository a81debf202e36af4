using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>What the changes of a transaction have in common.</summary>
/// <param name="Id">Its number.</param>
/// <param name="CommitLsn">Where it was committed.</param>
/// <param name="CommitTime">When it was committed.</param>
/// <param name="Origin">The first part of the identity of its changes.</param>
internal sealed record ChangeTransaction(uint Id, ulong CommitLsn, DateTimeOffset CommitTime, string Origin)
{
    public static ChangeTransaction Of(string slot, uint id, ulong commitLsn, DateTimeOffset commitTime) =>
        new(id, commitLsn, commitTime, $"{slot}:{new NpgsqlLogSequenceNumber(commitLsn)}");
}

using System.Globalization;
using NpgsqlTypes;

namespace Weir.PostgreSql;

/// <summary>
/// How far a stream has been processed: every transaction up to the end of one, and a number of changes of the next one. Or that a snapshot is not complete.
/// </summary>
/// <param name="Lsn">The end of the last transaction that is finished.</param>
/// <param name="PartLsn">Where the partly processed transaction was committed; 0 for none.</param>
/// <param name="PartCount">How many of its changes are done.</param>
internal readonly record struct ChangePosition(ulong Lsn, ulong PartLsn = 0, long PartCount = 0)
{
    private const string SnapshotText = "snapshot";

    /// <summary>The snapshot is not complete and starts again. The slot may or may not exist.</summary>
    public static ChangePosition Snapshot => new(0);

    public bool IsSnapshot => Lsn == 0;

    /// <summary>Reads what <see cref="ToString"/> returns.</summary>
    /// <returns>The position; null for none.</returns>
    /// <exception cref="WorkSetupException">The text is something else.</exception>
    public static ChangePosition? Parse(string? text, string name)
    {
        if (string.IsNullOrEmpty(text))
        {
            return null;
        }

        if (text == SnapshotText)
        {
            return Snapshot;
        }

        int plus = text.IndexOf('+', StringComparison.Ordinal);
        int colon = text.LastIndexOf(':');
        if (NpgsqlLogSequenceNumber.TryParse(plus < 0 ? text : text[..plus], out NpgsqlLogSequenceNumber lsn) && (ulong)lsn > 0)
        {
            if (plus < 0)
            {
                return new ChangePosition((ulong)lsn);
            }

            if (colon > plus && NpgsqlLogSequenceNumber.TryParse(text[(plus + 1)..colon], out NpgsqlLogSequenceNumber part)
                && long.TryParse(text.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out long count))
            {
                return new ChangePosition((ulong)lsn, (ulong)part, count);
            }
        }

        throw new WorkSetupException($"The checkpoint '{name}' is not a position of a change stream: '{text}'. Give the stream a checkpoint name of its own.");
    }

    public override string ToString() => IsSnapshot
        ? SnapshotText
        : PartCount == 0
            ? new NpgsqlLogSequenceNumber(Lsn).ToString()
            : string.Create(CultureInfo.InvariantCulture, $"{new NpgsqlLogSequenceNumber(Lsn)}+{new NpgsqlLogSequenceNumber(PartLsn)}:{PartCount}");
}

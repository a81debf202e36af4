using System.Security.Cryptography;
using System.Text;

namespace Weir.PostgreSql;

/// <summary>Which changes are processed one after another, and which alone.</summary>
internal sealed class ChangeKeys(PostgresChangeOrder order)
{
    private const int MaxText = 200;

    /// <summary>Whether a change begins only when everything before it is done, and everything after waits for it.</summary>
    public bool IsAlone(PostgresChange change, bool isFirstOfVersion) => order switch
    {
        PostgresChangeOrder.Key => isFirstOfVersion || change.Kind == PostgresChangeKind.Truncate || HasOtherKey(change),
        PostgresChangeOrder.Relation => isFirstOfVersion,
        _ => false,
    };

    /// <summary>The key of the item of a change. Changes with the same key are processed in order; null for none.</summary>
    public string? KeyFor(PostgresChange change) => order switch
    {
        PostgresChangeOrder.Key => KeyOf(change),
        PostgresChangeOrder.Relation => change.Relation.LaneName,
        PostgresChangeOrder.Transaction => change.Id.Origin,
        PostgresChangeOrder.Global => "",
        _ => null,
    };

    private static bool HasOtherKey(PostgresChange change)
    {
        if (change is not { Kind: PostgresChangeKind.Update, Old: { } before, New: { } after })
        {
            return false;
        }

        foreach (int place in change.Relation.LaneOrdinals)
        {
            if (after.GetState(place) != PostgresValueState.Unchanged && before.SentText(place) != after.SentText(place))
            {
                return true;
            }
        }

        return false;
    }

    private static string KeyOf(PostgresChange change)
    {
        PostgresRelation relation = change.Relation;
        if (relation.LaneOrdinals.Count == 0 || change.Kind == PostgresChangeKind.Truncate)
        {
            return relation.LaneName;
        }

        if (relation.LaneOrdinals.Count == 1)
        {
            return $"{relation.LaneName}:{TextOf(change, relation.LaneOrdinals[0])}";
        }

        var text = new StringBuilder(relation.LaneName);
        char separator = ':';
        foreach (int place in relation.LaneOrdinals)
        {
            text.Append(separator).Append(TextOf(change, place));
            separator = ',';
        }

        return text.ToString();
    }

    // Two keys of rows may have the same text. Then they share a key, which only costs some concurrency.
    private static string? TextOf(PostgresChange change, int place)
    {
        PostgresRow row = change.New is { } after && after.GetState(place) != PostgresValueState.Unchanged ? after : change.Old ?? change.New!;
        string? text = row.SentText(place);
        return text?.Length > MaxText ? Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(text))) : text;
    }
}

using System.Runtime.CompilerServices;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>The rows of a queue, to look at. No lock is held while the caller does.</summary>
internal sealed class PostgresQueuedItems(Database database, QueueStatements statements) : IQueuedItems
{
    private const int PageSize = 50;

    public IAsyncEnumerable<QueuedItem> ListAsync(int limit = 100, CancellationToken cancellationToken = default)
    {
        Require.AtLeastOne(limit, nameof(limit));
        return ListPagesAsync(limit, cancellationToken);
    }

    public async ValueTask<QueuedItem?> FindAsync(WorkId id, CancellationToken cancellationToken = default)
    {
        List<(QueuedItem Item, long)> found = await database.QueryAsync(
            statements.FindItem, Read, cancellationToken, Parameter.Of(id.Origin ?? ""), Parameter.Of(id.Index)).ConfigureAwait(false);
        return found.Count == 0 ? null : found[0].Item;
    }

    public async ValueTask<int> CancelAsync(IReadOnlyList<WorkId> ids, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(ids);
        string[] origins = [.. ids.Select(static i => i.Origin ?? "")];
        int[] places = [.. ids.Select(static i => i.Index)];
        if (statements.HasPacks)
        {
            await database.ExecuteAsync(statements.OpenNamedPacks, cancellationToken, Parameter.Of(origins), Parameter.Of(places))
                .ConfigureAwait(false);
        }

        List<long> counts = await database.QueryAsync(
            statements.CancelItems,
            static r => r.GetInt64(1),
            cancellationToken,
            Parameter.Of(origins),
            Parameter.Of(places)).ConfigureAwait(false);
        return (int)counts[0];
    }

    private static (QueuedItem Item, long Row) Read(NpgsqlDataReader row) => (
        new QueuedItem
        {
            Id = new WorkId(row.GetString(1), row.GetInt32(2)).ToString(),
            Key = row.IsDBNull(3) ? null : row.GetString(3),
            Attempt = row.GetInt32(4),
            Due = new DateTimeOffset(row.GetDateTime(5), TimeSpan.Zero),
            IsInFlight = row.GetBoolean(6),
            Headers = HeaderText.ReadAny(row.IsDBNull(7) ? null : row.GetString(7)),
            Payload = (byte[])row[8],
        },
        row.GetInt64(0));

    private async IAsyncEnumerable<QueuedItem> ListPagesAsync(int limit, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        // A page is a pack, up to the last one, or some rows.
        bool isPack = statements.HasPacks;
        long last = isPack ? 0 : long.MinValue;
        while (limit > 0)
        {
            int most = isPack ? limit : Math.Min(limit, PageSize);
            List<(QueuedItem Item, long Row)> page = await database.QueryAsync(
                isPack ? statements.ListPack : statements.ListItems, Read, cancellationToken, Parameter.Of(last), Parameter.Of(most)).ConfigureAwait(false);
            foreach ((QueuedItem item, long row) in page)
            {
                cancellationToken.ThrowIfCancellationRequested();
                last = row;
                yield return item;
            }

            limit -= page.Count;
            if (isPack && page.Count == 0)
            {
                (isPack, last) = (false, long.MinValue);
            }
            else if (!isPack && page.Count < most)
            {
                yield break;
            }
        }
    }
}

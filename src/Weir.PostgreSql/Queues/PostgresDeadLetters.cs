using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>The dead letters of a queue, in a table that all queues of a schema share.</summary>
/// <param name="database">Where the table is.</param>
/// <param name="statements">The statements of the queue.</param>
/// <param name="notifier">Wakes the sources of the queue; null if they poll.</param>
internal sealed class PostgresDeadLetters(Database database, QueueStatements statements, QueueNotifier? notifier) : IDeadLetters
{
    // How many dead letters are read at a time. No connection is held while the caller looks at them.
    private const int PageSize = 50;

    // An identity is part of an index.
    private const int MaxIdBytes = 1000;

    public async ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(letters);

        // A statement can replace a row only once.
        Dictionary<string, DeadLetter> byId = new(StringComparer.Ordinal);
        foreach (DeadLetter letter in letters)
        {
            byId[Fit(letter.Id)] = letter;
        }

        foreach (KeyValuePair<string, DeadLetter>[] part in byId.Chunk(PageSize))
        {
            await database.ExecuteAsync(
                statements.AddLetters,
                cancellationToken,
                Parameter.Of(part.Select(static l => l.Key).ToArray()),
                Parameter.Of(part.Select(static l => SqlName.Storable(l.Value.Source)).ToArray()),
                Parameter.Of(part.Select(static l => l.Value.Reason.ToString()).ToArray()),
                Parameter.Of(part.Select(static l => SqlName.Storable(l.Value.Error)).ToArray()),
                Parameter.Of(part.Select(static l => l.Value.Attempts).ToArray()),
                Parameter.Of(part.Select(static l => l.Value.Time.UtcDateTime).ToArray()),
                Parameter.Of(part.Select(static l => l.Value.Key is { } key ? SqlName.Storable(key) : null).ToArray()),
                Parameter.Of(part.Select(static l => HeaderText.Write(l.Value.Headers)).ToArray()),
                Parameter.Of(part.Select(static l => l.Value.Payload.ToArray()).ToArray())).ConfigureAwait(false);
        }
    }

    public IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default)
    {
        Require.AtLeastOne(limit, nameof(limit));
        return ListPagesAsync(limit, cancellationToken);
    }

    public async ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(id);
        List<(DeadLetter Letter, long)> found = await database.QueryAsync(statements.FindLetter, Read, cancellationToken, Parameter.Of(Fit(id)))
            .ConfigureAwait(false);
        return found.Count == 0 ? null : found[0].Letter;
    }

    public async ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(ids);
        int count = await database.ExecuteAsync(statements.Replay, cancellationToken, Parameter.Of(ids.Select(Fit).ToArray())).ConfigureAwait(false);
        if (count > 0)
        {
            notifier?.Notify();
        }

        return count;
    }

    public async ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(ids);
        return await database.ExecuteAsync(statements.RemoveLetters, cancellationToken, Parameter.Of(ids.Select(Fit).ToArray())).ConfigureAwait(false);
    }

    /// <summary>An identity as the table has it: the same text, unless it cannot be stored or is too long.</summary>
    internal static string Fit(string id)
    {
        int bytes = SqlName.Bytes(id);
        return bytes is >= 0 and <= MaxIdBytes
            ? id
            : $"{SqlName.Storable(id[..Math.Min(id.Length, 200)])}… {Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(id)))}";
    }

    private static (DeadLetter Letter, long Number) Read(NpgsqlDataReader row) => (
        new DeadLetter
        {
            Id = row.GetString(0),
            Source = row.GetString(1),
            Reason = Enum.TryParse(row.GetString(2), out DeadLetterReason reason) ? reason : DeadLetterReason.Failed,
            Error = row.GetString(3),
            Attempts = row.GetInt32(4),
            Time = new DateTimeOffset(row.GetDateTime(5), TimeSpan.Zero),
            Key = row.IsDBNull(6) ? null : row.GetString(6),
            Headers = HeaderText.ReadAny(row.IsDBNull(7) ? null : row.GetString(7)),
            Payload = (byte[])row[8],
        },
        row.GetInt64(9));

    private async IAsyncEnumerable<DeadLetter> ListPagesAsync(int limit, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        long last = long.MinValue;
        while (limit > 0)
        {
            int most = Math.Min(limit, PageSize);
            List<(DeadLetter Letter, long Number)> page = await database.QueryAsync(
                statements.ListLetters, Read, cancellationToken, Parameter.Of(last), Parameter.Of(most)).ConfigureAwait(false);
            foreach ((DeadLetter letter, long number) in page)
            {
                cancellationToken.ThrowIfCancellationRequested();
                last = number;
                yield return letter;
            }

            limit = page.Count < most ? 0 : limit - page.Count;
        }
    }
}

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

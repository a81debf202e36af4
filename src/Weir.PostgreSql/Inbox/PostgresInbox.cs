using System.Data;
using System.Globalization;
using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// Remembers which items have had their effect, in the same transaction as the effect: an item that is delivered again does nothing. So effects in a database
/// of PostgreSQL happen once, whichever engine delivers the items.
/// </summary>
/// <remarks>
/// Thread-safe. Processes that share an inbox share its name. An item is known by its <see cref="WorkItem{T}.Id"/>, which is the same at each delivery.
/// </remarks>
public sealed class PostgresInbox
{
    // A row of an index has to fit into a third of a page.
    private const int MaxOriginBytes = 500;
    private const int MaxForgotten = 5000;
    private const int MaxForgettings = 20;

    // After how many new identities the old ones are deleted.
    private const int ForgetAfter = 1000;

    private readonly NpgsqlDataSource _source;
    private readonly Database _database;
    private readonly SetupPart _setup;
    private readonly TimeSpan _history;
    private readonly string _add;
    private readonly string _forget;
    private int _untilForgetting;

    /// <summary>Creates an object for an inbox. It asks nothing of the server.</summary>
    /// <param name="source">Where connections come from: the database of the effects. It stays the caller's, and is not disposed.</param>
    /// <param name="name">The name of the inbox, such as that of the queue. Inboxes of different names know nothing of each other. At most 63 bytes.</param>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">The name is empty or too long, or a value of <paramref name="options"/> is out of range.</exception>
    public PostgresInbox(NpgsqlDataSource source, string name, PostgresInboxOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(source);
        _source = source;
        Name = SqlName.Check(name, nameof(name));
        options ??= new PostgresInboxOptions();
        options.Validate();
        _history = options.History;
        _database = new Database(source, $"the inbox '{name}'");
        SqlFiles files = new(new Dictionary<string, string>(StringComparer.Ordinal)
        {
            ["table"] = $"{SqlName.Quote(options.Schema)}.inbox",
            ["inbox"] = SqlName.Literal(name),
            ["forgotten"] = MaxForgotten.ToString(CultureInfo.InvariantCulture),
        });
        _setup = new SetupPart(_database, options.Schema, "inbox", "", () => files.ReadAll("inbox_tables"));
        _add = files.Read("inbox_add");
        _forget = files.Read("inbox_forget");
    }

    /// <summary>The name of the inbox.</summary>
    public string Name { get; }

    /// <summary>Creates the table, where it is not there yet.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when the inbox can be used.</returns>
    /// <exception cref="WorkSetupException">Something is there that does not match, or the user may not create tables.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public Task SetupAsync(CancellationToken cancellationToken = default) => _setup.CreateAsync(cancellationToken);

    /// <summary>Does what an item is for, unless it was done before: its identity and the effect are one transaction.</summary>
    /// <param name="id">The identity of the item.</param>
    /// <param name="effect">
    /// The effect, on the connection of the transaction. It neither commits nor rolls back. If it throws, nothing of it stays, and the item can come again.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The effect may have been committed all the same; then the next call does nothing.</param>
    /// <returns>Whether the effect happened now; <see langword="false"/> if the item had it before, so that nothing was called.</returns>
    /// <exception cref="ArgumentException">The origin of the identity is longer than 500 bytes of UTF-8, or has the character U+0000.</exception>
    /// <exception cref="WorkSetupException">The inbox is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <remarks>If another transaction has the same item at the moment, this waits for its end.</remarks>
    public async ValueTask<bool> ProcessAsync(
        WorkId id, Func<NpgsqlTransaction, CancellationToken, ValueTask> effect, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(effect);
        return await ProcessNewAsync([id], (transaction, _, token) => effect(transaction, token), cancellationToken).ConfigureAwait(false) > 0;
    }

    /// <summary>Does what some items are for, those that were not done before: all their identities and effects are one transaction.</summary>
    /// <typeparam name="T">The type of the items' values.</typeparam>
    /// <param name="items">The items.</param>
    /// <param name="effects">
    /// The effects of the items that it gets, which are new, each once and in order. On the connection of the transaction. It neither commits nor rolls back.
    /// If it throws, nothing of it stays. Not called when no item is new.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The effects may have been committed all the same; then the next call does nothing.</param>
    /// <returns>How many items were new.</returns>
    /// <exception cref="ArgumentException">The origin of an identity is longer than 500 bytes of UTF-8, or has the character U+0000.</exception>
    /// <exception cref="WorkSetupException">The inbox is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask<int> ProcessAsync<T>(
        IReadOnlyList<WorkItem<T>> items,
        Func<NpgsqlTransaction, IReadOnlyList<WorkItem<T>>, CancellationToken, ValueTask> effects,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(effects);
        return items.Count == 0 ? new ValueTask<int>(0) : ProcessNewAsync(
            [.. items.Select(static i => i.Id)],
            (transaction, added, token) => effects(transaction, [.. items.Where(i => added.Remove(i.Id))], token),
            cancellationToken);
    }

    /// <summary>Adds an identity inside the caller's transaction, which has the effect too: both are there, or neither.</summary>
    /// <param name="transaction">A transaction that is open, best of the isolation level read committed. It stays the caller's.</param>
    /// <param name="id">The identity of the item.</param>
    /// <param name="cancellationToken">Ends the wait. The transaction has failed then.</param>
    /// <returns>Whether the item is new; <see langword="false"/> if it had its effect before, so that the caller does nothing.</returns>
    /// <exception cref="ArgumentException">The identity cannot be stored, or the transaction has ended already.</exception>
    /// <exception cref="WorkSetupException">The inbox is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <remarks>It deletes nothing. If you use only this method, call <see cref="ForgetAsync"/> from time to time.</remarks>
    public async ValueTask<bool> TryAddAsync(NpgsqlTransaction transaction, WorkId id, CancellationToken cancellationToken = default)
    {
        NpgsqlConnection connection = Database.ConnectionOf(transaction);
        return (await AddAsync(connection, [id], cancellationToken).ConfigureAwait(false)).Count > 0;
    }

    /// <summary>Forgets the identities that are older than <see cref="PostgresInboxOptions.History"/>, up to 100,000 of them.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>How many were forgotten.</returns>
    /// <exception cref="WorkSetupException">The inbox is not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <remarks>The two forms of <c>ProcessAsync</c> call it after every 1,000 items.</remarks>
    public async ValueTask<int> ForgetAsync(CancellationToken cancellationToken = default)
    {
        int forgotten = 0;
        for (int part = 0; part < MaxForgettings; part++)
        {
            int count = await _database.ExecuteAsync(_forget, cancellationToken, Parameter.Of(_history)).ConfigureAwait(false);
            forgotten += count;
            if (count < MaxForgotten)
            {
                break;
            }
        }

        return forgotten;
    }

    private async ValueTask<int> ProcessNewAsync(
        WorkId[] ids, Func<NpgsqlTransaction, HashSet<WorkId>, CancellationToken, ValueTask> effects, CancellationToken cancellationToken)
    {
        int count = await CommitAsync(ids, effects, cancellationToken).ConfigureAwait(false);
        if (count > 0 && Interlocked.Add(ref _untilForgetting, -count) < 0)
        {
            Interlocked.Exchange(ref _untilForgetting, ForgetAfter);
            await ForgetQuietlyAsync(cancellationToken).ConfigureAwait(false);
        }

        return count;
    }

    private async ValueTask<int> CommitAsync(
        WorkId[] ids, Func<NpgsqlTransaction, HashSet<WorkId>, CancellationToken, ValueTask> effects, CancellationToken cancellationToken)
    {
        NpgsqlConnection connection = await _source.OpenConnectionAsync(cancellationToken).ConfigureAwait(false);
        await using (connection.ConfigureAwait(false))
        {
            NpgsqlTransaction transaction = await connection.BeginTransactionAsync(IsolationLevel.ReadCommitted, cancellationToken).ConfigureAwait(false);
            await using (transaction.ConfigureAwait(false))
            {
                HashSet<WorkId> added = await AddAsync(connection, ids, cancellationToken).ConfigureAwait(false);
                int count = added.Count;
                if (count > 0)
                {
                    await effects(transaction, added, cancellationToken).ConfigureAwait(false);
                    await transaction.CommitAsync(cancellationToken).ConfigureAwait(false);
                }

                return count;
            }
        }
    }

    // The items are done. It does no harm that old identities are still stored, and the next call tries again.
    private async ValueTask ForgetQuietlyAsync(CancellationToken cancellationToken)
    {
        try
        {
            await ForgetAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            Interlocked.Exchange(ref _untilForgetting, 0);
        }
    }

    private async ValueTask<HashSet<WorkId>> AddAsync(NpgsqlConnection connection, WorkId[] ids, CancellationToken cancellationToken)
    {
        foreach (WorkId id in ids)
        {
            if (SqlName.Bytes(id.Origin ?? "\0") is < 0 or > MaxOriginBytes)
            {
                throw new ArgumentException(
                    $"The origin of an item's identity must be a text of at most {MaxOriginBytes} bytes of UTF-8 without the character U+0000.", nameof(ids));
            }
        }

        return [.. await _database.QueryOnAsync(
            connection,
            _add,
            static r => new WorkId(r.GetString(0), r.GetInt32(1)),
            cancellationToken,
            Parameter.Of(Array.ConvertAll(ids, static i => i.Origin)),
            Parameter.Of(Array.ConvertAll(ids, static i => i.Index))).ConfigureAwait(false)];
    }
}

/// <summary>The options of a <see cref="PostgresInbox"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record PostgresInboxOptions
{
    /// <summary>The schema of the table.</summary>
    /// <value>At most 63 bytes of UTF-8. The default is <c>weir</c>.</value>
    public string Schema { get; init; } = "weir";

    /// <summary>
    /// How long identities are remembered. An item that is delivered again after that is processed again, so this must be longer than an item can lie in its
    /// queue, with the time that its server or its workers may be away.
    /// </summary>
    /// <value>From 1 minute to 365 days. The default is 7 days. The table has one row of about 100 bytes for each item of that time.</value>
    public TimeSpan History { get; init; } = TimeSpan.FromDays(7);

    internal void Validate()
    {
        SqlName.Check(Schema, nameof(Schema));
        Require.Range(
            History >= TimeSpan.FromMinutes(1) && History <= TimeSpan.FromDays(365), History, nameof(History), "from 1 minute to 365 days");
    }
}

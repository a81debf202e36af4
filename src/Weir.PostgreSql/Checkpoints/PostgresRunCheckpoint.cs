using System.Collections.Concurrent;
using System.Data;
using System.Globalization;
using Npgsql;
using Weir.Checkpoints;

namespace Weir.PostgreSql;

// What is done is in two tables: a row of the run, and rows of its items. A call marks its item by a row of its own, in the transaction of the effect, so that
// marks of several calls do not wait for each other.
//
// - By key, that row stays, and nothing else is saved.
// - By position, the run puts marks together once a second: it deletes those of items that have ended, and adds their ranges, in one transaction. A mark of an
//   item that still runs stays: a call whose commit has an unknown end finds it when it is tried again. So does one that was given up.
// - An item that ended without a mark is added as well, so it is noted as in any other store.
//
// One connection holds the lock of the run and makes the saves, so a save can only be made while the lock is held. A call has a connection of its own, which may
// live on when the lock was lost. So a mark also holds the row of the run, in the epoch in which its run began, and the next run waits for such transactions and
// begins another epoch before it reads what is done.

/// <summary>
/// A checkpoint of a run in tables of PostgreSQL, whose items are marked as done in the same transaction as their effect: however the process ends, each
/// effect in the database happens once. See docs/reference/resume.md.
/// </summary>
/// <remarks>
/// Thread-safe. An item is told by its key, of <see cref="Checkpoint.By{TItem, TKey}"/>, or otherwise by its position in the source, from 0. One run at a time
/// may use a name: a second one fails with an <see cref="IOException"/>. A run holds one connection as long as it goes on.
/// </remarks>
public sealed class PostgresRunCheckpoint
{
    // A row of an index has to fit into a third of a page.
    private const int MaxKeyBytes = 500;

    private readonly NpgsqlDataSource _source;
    private readonly Database _database;
    private readonly SetupPart _setup;
    private readonly string _schema;
    private readonly SqlFiles _files;
    private readonly string _mark;
    private readonly string _markAgain;
    private volatile Run? _run;

    /// <summary>Creates an object for a run. It asks nothing of the server.</summary>
    /// <param name="source">Where connections come from: the database of the effects. It stays the caller's, and is not disposed.</param>
    /// <param name="name">The name of the run, such as <c>import</c>.</param>
    /// <param name="schema">The schema of the tables. At most 63 bytes of UTF-8.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">
    /// <paramref name="name"/> is empty or longer than 500 bytes of UTF-8, or <paramref name="schema"/> is empty or too long.
    /// </exception>
    public PostgresRunCheckpoint(NpgsqlDataSource source, string name, string schema = "weir")
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentException.ThrowIfNullOrEmpty(name);
        _source = source;
        Name = SqlName.Bytes(name) is >= 0 and <= MaxKeyBytes ? name : throw new ArgumentException(
            $"name must be a text of at most {MaxKeyBytes} bytes of UTF-8 without the character U+0000.", nameof(name));
        _schema = SqlName.Check(schema, nameof(schema));
        _database = new Database(source, "the checkpoints of runs", explainOthers: e => IsOfOurs(e, PostgresErrorCodes.NotNullViolation)
            ? $"The checkpoint {name} was taken over by another run, because the connection that held it has ended. Nothing of this call was done."
            : null);
        _files = new SqlFiles(new Dictionary<string, string>(StringComparer.Ordinal)
        {
            ["runs"] = $"{SqlName.Quote(schema)}.runs",
            ["items"] = $"{SqlName.Quote(schema)}.run_items",
        });
        _setup = new SetupPart(_database, schema, "runs", "", () => _files.ReadAll("run_tables"));
        _mark = _files.Read("run_mark");
        _markAgain = _files.Read("run_mark", "again");
    }

    /// <summary>The name of the run.</summary>
    public string Name { get; }

    /// <summary>Creates the tables, where they are not there yet.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when the checkpoint can be used.</returns>
    /// <exception cref="WorkSetupException">Something is there that does not match, or the user may not create tables.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public Task SetupAsync(CancellationToken cancellationToken = default) => _setup.CreateAsync(cancellationToken);

    /// <summary>Forgets what is done, so that the next run begins anew.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>A task that completes when it is forgotten.</returns>
    /// <exception cref="IOException">A run has the checkpoint.</exception>
    /// <exception cref="WorkSetupException">The tables are not set up.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async Task DeleteAsync(CancellationToken cancellationToken = default)
    {
        OpenCheckpoint run = await new Store(this).OpenAsync(cancellationToken).ConfigureAwait(false);
        await using (run.ConfigureAwait(false))
        {
            await _database.ExecuteAsync(_files.Read("run_delete"), cancellationToken, Parameter.Of(Name)).ConfigureAwait(false);
        }
    }

    /// <summary>The checkpoint for the options of a run: <c>Resume = import.AsCheckpoint().OfFile(csv)</c>.</summary>
    /// <returns>The checkpoint.</returns>
    public Checkpoint AsCheckpoint() => new(new Store(this));

    /// <summary>Does what an item is for and marks it as done, in one transaction, unless it was done before.</summary>
    /// <typeparam name="TKey">The type of the keys: text, an integer or a <see cref="Guid"/>.</typeparam>
    /// <param name="key">The key of the item, or its position in the source.</param>
    /// <param name="effect">
    /// The effect, on the connection of the transaction. It neither commits nor rolls back. If it throws, nothing of it stays, and the item is not done.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The effect may have been committed all the same; then the next call does nothing.</param>
    /// <returns>
    /// Whether the effect happened now; <see langword="false"/> if an earlier attempt has committed it, whose end was not known, so that nothing was called.
    /// </returns>
    /// <exception cref="InvalidOperationException">No run uses this checkpoint, or the item does not run now.</exception>
    /// <exception cref="WorkSetupException">The tables are not set up, or another run has taken over the checkpoint.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<bool> ProcessAsync<TKey>(
        TKey key, Func<NpgsqlTransaction, CancellationToken, ValueTask> effect, CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(effect);
        return await CommitAsync([TextOf(key)], (transaction, _, token) => effect(transaction, token), cancellationToken).ConfigureAwait(false) > 0;
    }

    /// <summary>Does what some items are for and marks them as done, in one transaction: those that were not done before.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys: text, an integer or a <see cref="Guid"/>.</typeparam>
    /// <param name="items">The items, such as a batch.</param>
    /// <param name="key">The key of an item, or its position in the source.</param>
    /// <param name="effects">
    /// The effects of the items that it gets, in order. On the connection of the transaction. It neither commits nor rolls back. If it throws, nothing of it stays.
    /// Not called when all items were done before.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The effects may have been committed all the same; then the next call does nothing.</param>
    /// <returns>How many items were not done before.</returns>
    /// <exception cref="InvalidOperationException">No run uses this checkpoint, or an item does not run now.</exception>
    /// <exception cref="WorkSetupException">The tables are not set up, or another run has taken over the checkpoint.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask<int> ProcessAsync<TItem, TKey>(
        IReadOnlyList<TItem> items,
        Func<TItem, TKey> key,
        Func<NpgsqlTransaction, IReadOnlyList<TItem>, CancellationToken, ValueTask> effects,
        CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(key);
        ArgumentNullException.ThrowIfNull(effects);
        return items.Count == 0 ? new ValueTask<int>(0) : CommitAsync(
            [.. items.Select(item => TextOf(key(item)))],
            (transaction, marked, token) => effects(transaction, [.. items.Where(item => marked.Remove(TextOf(key(item))))], token),
            cancellationToken);
    }

    /// <summary>Does the statements of a batch and marks an item as done, in one transaction and one round trip, unless it was done before.</summary>
    /// <typeparam name="TKey">The type of the keys: text, an integer or a <see cref="Guid"/>.</typeparam>
    /// <param name="key">The key of the item, or its position in the source.</param>
    /// <param name="effects">
    /// The statements, of <see cref="NpgsqlDataSource.CreateBatch"/> or with a connection that has no transaction. While they run, the mark is the first of them.
    /// </param>
    /// <param name="cancellationToken">Ends the wait. The effects may have been committed all the same; then the next call does nothing.</param>
    /// <returns>Whether the effects happened now; <see langword="false"/> if an earlier attempt has committed them.</returns>
    /// <exception cref="ArgumentException">The batch has error barriers, so that it would not be one transaction.</exception>
    /// <exception cref="InvalidOperationException">No run uses this checkpoint, or the item does not run now.</exception>
    /// <exception cref="WorkSetupException">The tables are not set up, or another run has taken over the checkpoint.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<bool> ProcessAsync<TKey>(TKey key, NpgsqlBatch effects, CancellationToken cancellationToken = default)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(effects);
        if (effects.EnableErrorBarriers || ((IEnumerable<NpgsqlBatchCommand>)effects.BatchCommands).Any(static c => c.AppendErrorBarrier == true))
        {
            throw new ArgumentException("The batch must have no error barriers: it would not be one transaction with them.", nameof(effects));
        }

        string[] items = [TextOf(key)];
        using Marking marking = Begin(items);
        NpgsqlBatchCommand mark = new(_mark);
        mark.Parameters.Add(Parameter.Of(Name));
        mark.Parameters.Add(Parameter.Of(marking.Epoch));
        mark.Parameters.Add(Parameter.Of(items));
        effects.BatchCommands.Insert(0, mark);
        try
        {
            await effects.ExecuteNonQueryAsync(cancellationToken).ConfigureAwait(false);
            return true;
        }
        catch (PostgresException e) when (IsOfOurs(e, PostgresErrorCodes.UniqueViolation))
        {
            return false;
        }
        catch (PostgresException e) when (IsOfOurs(e, PostgresErrorCodes.NotNullViolation))
        {
            throw new WorkSetupException(_database.Explanation(e)!, e);
        }
        finally
        {
            effects.BatchCommands.Remove(mark);
        }
    }

    /// <summary>Marks an item as done inside the caller's transaction, which has the effect too: both are there, or neither.</summary>
    /// <typeparam name="TKey">The type of the keys: text, an integer or a <see cref="Guid"/>.</typeparam>
    /// <param name="transaction">A transaction that is open, best of the isolation level read committed. It stays the caller's.</param>
    /// <param name="key">The key of the item, or its position in the source.</param>
    /// <param name="cancellationToken">Ends the wait. The transaction has failed then.</param>
    /// <returns>
    /// Whether the item was not done before; <see langword="false"/> if an earlier attempt has committed it, whose end was not known, so that the caller does
    /// nothing.
    /// </returns>
    /// <exception cref="ArgumentException">The transaction has ended already.</exception>
    /// <exception cref="InvalidOperationException">No run uses this checkpoint, or the item does not run now.</exception>
    /// <exception cref="WorkSetupException">The tables are not set up, or another run has taken over the checkpoint. The transaction has failed.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public async ValueTask<bool> TryMarkAsync<TKey>(NpgsqlTransaction transaction, TKey key, CancellationToken cancellationToken = default)
        where TKey : notnull =>
        (await MarkAsync(Database.ConnectionOf(transaction), [TextOf(key)], cancellationToken).ConfigureAwait(false)).Count > 0;

    private async ValueTask<int> CommitAsync(
        string[] items, Func<NpgsqlTransaction, HashSet<string>, CancellationToken, ValueTask> effects, CancellationToken cancellationToken)
    {
        NpgsqlConnection connection = await _source.OpenConnectionAsync(cancellationToken).ConfigureAwait(false);
        await using (connection.ConfigureAwait(false))
        {
            NpgsqlTransaction transaction = await connection.BeginTransactionAsync(IsolationLevel.ReadCommitted, cancellationToken).ConfigureAwait(false);
            await using (transaction.ConfigureAwait(false))
            {
                HashSet<string> marked = await MarkAsync(connection, items, cancellationToken).ConfigureAwait(false);
                int count = marked.Count;
                if (count > 0)
                {
                    await effects(transaction, marked, cancellationToken).ConfigureAwait(false);
                    await transaction.CommitAsync(cancellationToken).ConfigureAwait(false);
                }

                return count;
            }
        }
    }

    private async ValueTask<HashSet<string>> MarkAsync(NpgsqlConnection connection, string[] items, CancellationToken cancellationToken)
    {
        using Marking marking = Begin(items);
        List<string> marked = await _database.QueryOnAsync(
            connection, _markAgain, static r => r.GetString(0), cancellationToken, Parameter.Of(Name), Parameter.Of(marking.Epoch), Parameter.Of(items))
            .ConfigureAwait(false);
        return new(marked, StringComparer.Ordinal);
    }

    // Begins a statement that marks items. A mark of an item that does not run could leave that one out of the next run.
    private Marking Begin(string[] items)
    {
        Run run = _run ?? throw new InvalidOperationException(
            $"No run uses the checkpoint {Name} now: set Resume of the run to AsCheckpoint() of the object that marks its items.");
        Marking marking = new(run, items);
        if (Array.Find(items, item => !run.IsInFlight(item)) is { } other)
        {
            marking.Dispose();
            throw new InvalidOperationException(
                $"Item {other} of the checkpoint {Name} does not run now: an item is marked while it runs, by the key that By gives for it, or without By by its "
                    + "position in the source of the run, from 0.");
        }

        return marking;
    }

    private static string TextOf<TKey>(TKey key)
    {
        Checkpoint.CheckKey<TKey>(nameof(key));
        return Checkpoint.TextOf(key);
    }

    private bool IsOfOurs(PostgresException e, string state) => e.SqlState == state && e.SchemaName == _schema && e.TableName == "run_items";

    /// <summary>A statement that marks items, until it is disposed of.</summary>
    private readonly struct Marking : IDisposable
    {
        private readonly Run _run;
        private readonly string[] _items;

        public Marking(Run run, string[] items)
        {
            (_run, _items) = (run, items);
            run.MarkingBegins(items);
        }

        public long Epoch => _run.Epoch;

        public void Dispose() => _run.MarkingEnds(_items);
    }

    private sealed class Store(PostgresRunCheckpoint checkpoint) : CheckpointStore
    {
        public override string Name => checkpoint.Name;

        public override async ValueTask<OpenCheckpoint> OpenAsync(CancellationToken cancellationToken)
        {
            Run run = new(checkpoint);
            run.Held = await AdvisoryLock.TryTakeAsync(
                checkpoint._database, $"{checkpoint._schema}.runs.{Name}", run.BeginAsync, cancellationToken).ConfigureAwait(false) ?? throw InUse();
            return checkpoint._run = run;
        }
    }

    /// <summary>What a run has while it holds the checkpoint.</summary>
    private sealed class Run(PostgresRunCheckpoint checkpoint) : OpenCheckpoint
    {
        // The items that run.
        private readonly ConcurrentDictionary<string, byte> _inFlight = new(StringComparer.Ordinal);

        // How many statements that mark an item are on their way. A call that was given up may have one when its item has ended.
        private readonly ConcurrentDictionary<string, int> _marking = new(StringComparer.Ordinal);

        // Marks of positions. One that comes when its item has ended already stays a row until the next run.
        private readonly ConcurrentQueue<string> _newMarks = new();

        // Of the save.
        private readonly HashSet<string> _marks = new(StringComparer.Ordinal);
        private HashSet<string> _ranges = new(StringComparer.Ordinal);
        private int _keys;

        // Of the row when the run began; written by the first save, before any item runs.
        private string? _source;
        private bool _isComplete;
        private bool _hasKeys;

        public AdvisoryLock Held { get; set; } = null!;

        public long Epoch { get; private set; }

        public override bool FollowsItems => true;

        // What is marked is safe already.
        public override TimeSpan Interval => TimeSpan.FromSeconds(1);

        public async ValueTask BeginAsync(NpgsqlConnection connection, CancellationToken cancellationToken)
        {
            Database database = checkpoint._database;
            await database.ExecuteOnAsync(connection, checkpoint._files.Read("run_add"), cancellationToken, Parameter.Of(checkpoint.Name)).ConfigureAwait(false);
            await database.ExecuteOnAsync(connection, checkpoint._files.Read("run_wait"), cancellationToken, Parameter.Of(checkpoint.Name)).ConfigureAwait(false);
            await database.QueryOnAsync(
                connection,
                checkpoint._files.Read("run_begin"),
                r =>
                {
                    Epoch = r.GetInt64(0);
                    _source = r.IsDBNull(1) ? null : r.GetString(1);
                    _isComplete = r.GetBoolean(2);
                    _hasKeys = r.GetBoolean(3);
                    return true;
                },
                cancellationToken,
                Parameter.Of(checkpoint.Name)).ConfigureAwait(false);
        }

        public override async ValueTask<CheckpointText?> LoadAsync(CancellationToken cancellationToken)
        {
            if (_source is null)
            {
                return null;
            }

            List<string> items = await checkpoint._database.QueryOnAsync(
                Held.Connection, checkpoint._files.Read("run_load"), static r => r.GetString(0), cancellationToken, Parameter.Of(checkpoint.Name)).ConfigureAwait(false);
            if (_hasKeys)
            {
                _keys = items.Count;
                return new CheckpointText(_source, _isComplete, true, new DoneItems([], [.. items], items.Count));
            }

            _ranges = new(items, StringComparer.Ordinal);
            return new CheckpointText(_source, _isComplete, false, DoneItems.Of(items.Select(CheckpointText.RangeOf)));
        }

        public override async ValueTask SaveAsync(CheckpointText state)
        {
            while (_newMarks.TryDequeue(out string? mark))
            {
                _marks.Add(mark);
            }

            _hasKeys = state.HasKeys;
            HashSet<string> ranges = state.HasKeys ? _ranges : new(state.Done.Ranges.Select(CheckpointText.TextOf), StringComparer.Ordinal);
            string[] added = state.HasKeys ? state.Done.AllKeys[_keys..].ToArray() : [.. ranges.Except(_ranges)];

            // Not that of an item that still runs or has failed. Nor one that a late call may look for: without the row, it would do the effect again.
            string[] joined =
                [.. _marks.Where(mark => state.Done.Contains(long.Parse(mark, CultureInfo.InvariantCulture)) && !_marking.ContainsKey(mark))];
            string[] removed = [.. _ranges.Except(ranges), .. joined];
            await WriteAsync(state, added, removed).ConfigureAwait(false);
            _keys = state.Done.Keys;
            _ranges = ranges;
            _marks.ExceptWith(joined);
        }

        public bool IsInFlight(string item) => _inFlight.ContainsKey(item);

        // Before the look whether they run: then the save that follows the end of one of them sees the statement, or the statement sees the end.
        public void MarkingBegins(string[] items)
        {
            foreach (string item in items)
            {
                _marking.AddOrUpdate(item, 1, static (_, count) => count + 1);
            }
        }

        public void MarkingEnds(string[] items)
        {
            foreach (string item in items)
            {
                if (!_hasKeys && _inFlight.ContainsKey(item))
                {
                    _newMarks.Enqueue(item);
                }

                if (_marking.AddOrUpdate(item, 0, static (_, count) => count - 1) == 0)
                {
                    _marking.TryRemove(KeyValuePair.Create(item, 0));
                }
            }
        }

        public override void Began(string item)
        {
            if (SqlName.Bytes(item) is < 0 or > MaxKeyBytes)
            {
                throw new InvalidOperationException(
                    $"The key of an item must be a text of at most {MaxKeyBytes} bytes of UTF-8 without the character U+0000, for a checkpoint in PostgreSQL.");
            }

            _inFlight[item] = 0;
        }

        public override void Ended(string item) => _inFlight.TryRemove(item, out _);

        public override ValueTask DisposeAsync()
        {
            Interlocked.CompareExchange(ref checkpoint._run, null, this);
            return Held.DisposeAsync();
        }

        private async ValueTask WriteAsync(CheckpointText state, string[] added, string[] removed)
        {
            NpgsqlTransaction transaction = await Held.Connection.BeginTransactionAsync(CancellationToken.None).ConfigureAwait(false);
            await using (transaction.ConfigureAwait(false))
            {
                await ExecuteAsync("run_save", Parameter.Of(state.Source), Parameter.Of(state.IsComplete), Parameter.Of(state.HasKeys)).ConfigureAwait(false);
                if (removed.Length > 0)
                {
                    await ExecuteAsync("run_remove_items", Parameter.Of(removed)).ConfigureAwait(false);
                }

                if (added.Length > 0)
                {
                    await ExecuteAsync("run_add_items", Parameter.Of(added)).ConfigureAwait(false);
                }

                await transaction.CommitAsync(CancellationToken.None).ConfigureAwait(false);
            }
        }

        private async ValueTask ExecuteAsync(string statement, params NpgsqlParameter[] parameters) => await checkpoint._database.ExecuteOnAsync(
            Held.Connection, checkpoint._files.Read(statement), CancellationToken.None, [Parameter.Of(checkpoint.Name), .. parameters]).ConfigureAwait(false);
    }
}

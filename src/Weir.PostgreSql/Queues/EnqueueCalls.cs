using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// Calls that enqueue a few items each, from many callers at once. Some statements run at a time; all who come meanwhile share the next one. So a thousand
/// callers neither take the connections of the pool nor wait for a thousand commits.
/// </summary>
/// <param name="create">Makes empty columns.</param>
/// <param name="store">Stores columns in one transaction, and returns the places, from 0, of the rows that were enqueued before.</param>
/// <param name="clock">Where the time comes from.</param>
internal sealed class EnqueueCalls<T>(Func<ItemRows<T>> create, Func<ItemRows<T>, CancellationToken, ValueTask<List<int>>> store, TimeProvider clock)
{
    /// <summary>How many statements run at a time. While one waits for the disk, the next one is sent.</summary>
    public const int MostAtOnce = 2;

    /// <summary>
    /// How long a call waits for them. A statement waits for a transaction that has enqueued one of its identities, and that may last; who waits for another
    /// identity, perhaps inside that very transaction, does not wait for it.
    /// </summary>
    public static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(50);

    private readonly Lock _lock = new();
    private readonly Queue<Call> _waiting = new();
    private int _running;

    /// <summary>How many statements run.</summary>
    public int Running => Volatile.Read(ref _running);

    /// <summary>Stores the rows of a call, alone or together with others.</summary>
    /// <returns>How many of them are new.</returns>
    public ValueTask<int> StoreAsync(ItemRows<T> rows, CancellationToken cancellationToken)
    {
        Call? call = null;
        lock (_lock)
        {
            if (_running < MostAtOnce)
            {
                _running++;
            }
            else
            {
                _waiting.Enqueue(call = new Call(rows, cancellationToken));
                WatchFirst();
            }
        }

        return call is null ? AloneAsync(rows, cancellationToken) : new ValueTask<int>(call.Task.WaitAsync(cancellationToken));
    }

    // Called under the lock.
    private void WatchFirst()
    {
        if (_waiting.TryPeek(out Call? first) && !first.IsWatched)
        {
            first.IsWatched = true;
            Detached(() => WatchAsync(first));
        }
    }

    private async Task WatchAsync(Call call)
    {
        await Task.Delay(Patience, clock).ConfigureAwait(false);
        lock (_lock)
        {
            if (!_waiting.Contains(call))
            {
                return;
            }

            _running++;
        }

        GoOn();
    }

    private async ValueTask<int> AloneAsync(ItemRows<T> rows, CancellationToken cancellationToken)
    {
        try
        {
            return await CountNewAsync(rows, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            GoOn();
        }
    }

    private async ValueTask<int> CountNewAsync(ItemRows<T> rows, CancellationToken cancellationToken) =>
        rows.Count - (await store(rows, cancellationToken).ConfigureAwait(false)).Count;

    private void GoOn()
    {
        if (Next() is { } calls)
        {
            Detached(() => RunAsync(calls));
        }
    }

    // In a context of its own: what the caller's has in it, such as the span of a request, is not that of the others.
    private static void Detached(Func<Task> work)
    {
        AsyncFlowControl? flow = ExecutionContext.IsFlowSuppressed() ? null : ExecutionContext.SuppressFlow();
        try
        {
            _ = work();
        }
        finally
        {
            flow?.Undo();
        }
    }

    private async Task RunAsync(List<Call> calls)
    {
        // The caller whose statement has just ended does not wait for this one.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        for (List<Call>? next = calls; next is not null; next = Next())
        {
            try
            {
                await TogetherAsync(next).ConfigureAwait(false);
            }
            catch (Exception e)
            {
                next.ForEach(call => call.Fail(e));
            }
        }
    }

    // Those who wait, as far as one statement carries them; null, and one statement fewer runs, if nobody waits.
    private List<Call>? Next()
    {
        lock (_lock)
        {
            List<Call> calls = [];
            (int rows, long bytes) = (0, 0);
            while (_waiting.TryPeek(out Call? call))
            {
                if (!call.Token.IsCancellationRequested)
                {
                    (rows, bytes) = (rows + call.Rows.Count, bytes + call.Rows.Bytes);
                    if (calls.Count > 0 && (rows > call.Rows.Most || bytes > ItemRows<T>.MaxBytes))
                    {
                        break;
                    }

                    calls.Add(call);
                }

                _waiting.Dequeue();
            }

            WatchFirst();
            _running -= calls.Count == 0 ? 1 : 0;
            return calls.Count == 0 ? null : calls;
        }
    }

    private async ValueTask TogetherAsync(List<Call> calls)
    {
        ItemRows<T> rows = create();
        List<Call> owners = [];
        foreach (Call call in calls)
        {
            // An identity that another of them has too is enqueued once, for the first.
            call.Added = rows.Add(call.Rows);
            owners.AddRange(Enumerable.Repeat(call, call.Added));
        }

        List<int> known;
        try
        {
            known = await store(rows, CancellationToken.None).ConfigureAwait(false);
        }
        catch (PostgresException e) when (calls.Count > 1 && IsOfTheRows(e))
        {
            // The server has stored nothing, and one call may be to blame: the others are not to fail for it.
            await EachAsync(calls).ConfigureAwait(false);
            return;
        }

        known.ForEach(place => owners[place].Added--);
        calls.ForEach(static call => call.TrySetResult(call.Added));
    }

    // Data that cannot be stored, a constraint, a limit of the server's. After any other failure nobody knows what is stored.
    private static bool IsOfTheRows(PostgresException e) => e.SqlState.AsSpan(0, 2) is "22" or "23" or "54";

    private async ValueTask EachAsync(List<Call> calls)
    {
        foreach (Call call in calls)
        {
            try
            {
                call.TrySetResult(await CountNewAsync(call.Rows, call.Token).ConfigureAwait(false));
            }
            catch (Exception e)
            {
                call.Fail(e);
            }
        }
    }

    private sealed class Call(ItemRows<T> rows, CancellationToken token) : TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public ItemRows<T> Rows => rows;

        public CancellationToken Token => token;

        /// <summary>Whether a statement follows for it, should the others take long.</summary>
        public bool IsWatched { get; set; }

        /// <summary>How many of its rows are new, as far as is known.</summary>
        public int Added { get; set; }

        /// <summary>Ends the call with a failure, which counts as seen: its caller may have been cancelled, and does not look any more.</summary>
        public void Fail(Exception error)
        {
            TrySetException(error);
            _ = Task.Exception;
        }
    }
}

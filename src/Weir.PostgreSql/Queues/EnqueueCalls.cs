using Npgsql;

namespace Weir.PostgreSql;

/// <summary>
/// Calls that enqueue a few items each, from many callers at once. One statement runs at a time, or two if many items wait; all who come meanwhile share the
/// next one. So a thousand callers neither take the connections of the pool nor wait for a thousand commits.
/// </summary>
/// <param name="create">Makes empty columns.</param>
/// <param name="store">Stores columns in one transaction, and returns the places, from 0, of the rows that were enqueued before.</param>
/// <param name="clock">Where the time comes from.</param>
internal sealed class EnqueueCalls<T>(Func<ItemRows<T>> create, Func<ItemRows<T>, CancellationToken, ValueTask<List<int>>> store, TimeProvider clock)
{
    /// <summary>With how many items that wait a second statement runs. With fewer, most of a statement is its commit, and two take longer than one.</summary>
    public const int Many = 100;

    /// <summary>
    /// How long a call waits for them. A statement waits for a transaction that has enqueued one of its identities, and that may last; who waits for another
    /// identity, perhaps inside that very transaction, does not wait for it.
    /// </summary>
    public static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(50);

    private readonly Lock _lock = new();
    private readonly Queue<Call> _waiting = new();
    private int _rows;
    private int _running;

    // Statements of a series hold up those who come meanwhile. When one has waited for too long, another series begins, and those of the last one hold up
    // nobody.
    private int _series;

    /// <summary>How many statements run that hold up others.</summary>
    public int Running => Volatile.Read(ref _running);

    /// <summary>Stores the rows of a call, alone or together with others.</summary>
    /// <returns>How many of them are new.</returns>
    public ValueTask<int> StoreAsync(ItemRows<T> rows, CancellationToken cancellationToken)
    {
        Call? call = null;
        bool isSecond = false;
        int series;
        lock (_lock)
        {
            series = _series;
            if (_running == 0)
            {
                _running = 1;
            }
            else
            {
                _waiting.Enqueue(call = new Call(rows, cancellationToken));
                _rows += rows.Count;
                isSecond = _running == 1 && _rows >= Many;
                _running += isSecond ? 1 : 0;
                WatchFirst();
            }
        }

        if (isSecond)
        {
            GoOnLater(series);
        }

        return call is null ? AloneAsync(rows, series, cancellationToken) : new ValueTask<int>(call.Task.WaitAsync(cancellationToken));
    }

    // Called under the lock.
    private void WatchFirst()
    {
        if (_waiting.TryPeek(out Call? first) && !first.IsWatched)
        {
            // In a context of its own: what the caller's has in it, such as the span of a request, is not that of the others.
            using (ExecutionContext.IsFlowSuppressed() ? default : ExecutionContext.SuppressFlow())
            {
                _ = WatchAsync(first);
            }

            first.IsWatched = true;
        }
    }

    private async Task WatchAsync(Call call)
    {
        await Task.Delay(Patience, clock).ConfigureAwait(false);
        int series;
        lock (_lock)
        {
            if (!_waiting.Contains(call))
            {
                return;
            }

            series = ++_series;
            _running = 1;
        }

        new Following(this, series).Execute();
    }

    private async ValueTask<int> AloneAsync(ItemRows<T> rows, int series, CancellationToken cancellationToken)
    {
        try
        {
            return await CountNewAsync(rows, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            if (HasNext(series))
            {
                GoOnLater(series);
            }
        }
    }

    // Whether somebody waits for the end of this statement: nobody does if another series serves them. One fewer runs if nobody waits.
    private bool HasNext(int series)
    {
        lock (_lock)
        {
            if (series != _series)
            {
                return false;
            }

            _running -= _waiting.Count == 0 ? 1 : 0;
            return _waiting.Count > 0;
        }
    }

    private async ValueTask<int> CountNewAsync(ItemRows<T> rows, CancellationToken cancellationToken) =>
        rows.Count - (await store(rows, cancellationToken).ConfigureAwait(false)).Count;

    // Callers of one item after the other come back as soon as their calls end: they are in the queue of this thread, so the next statement is behind them in
    // the common one. Else it would have those who waited only, and the others share the one after it: twice as many statements for the same items.
    private void GoOnLater(int series) => ThreadPool.UnsafeQueueUserWorkItem(new Following(this, series), preferLocal: false);

    private async Task RunAsync(List<Call> calls, int series)
    {
        try
        {
            await TogetherAsync(calls).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            calls.ForEach(call => call.Fail(e));
        }

        GoOnLater(series);
    }

    // Those who wait, as far as one statement carries them. Nobody, and one statement fewer runs, if nobody waits; nobody too if another series serves them.
    private void TakeNext(int series, List<Call> calls)
    {
        lock (_lock)
        {
            if (series != _series)
            {
                return;
            }

            // Before anybody is taken: what takes a call must not fail after it.
            calls.EnsureCapacity(_waiting.Count);
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
                _rows -= call.Rows.Count;
            }

            WatchFirst();
            _running -= calls.Count == 0 ? 1 : 0;
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

    /// <summary>The statement that follows another one.</summary>
    private sealed class Following(EnqueueCalls<T> calls, int series) : IThreadPoolWorkItem
    {
        public void Execute()
        {
            List<Call>? taken = null;
            try
            {
                calls.TakeNext(series, taken = []);
                if (taken.Count > 0)
                {
                    _ = calls.RunAsync(taken, series);
                }
            }
            catch (Exception e)
            {
                // Such as no memory, which must not end the process here. Those who still wait are served when their patience ends, or a call comes.
                taken?.ForEach(call => call.Fail(e));
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

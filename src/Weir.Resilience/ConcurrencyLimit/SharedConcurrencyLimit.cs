using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Resilience;

/// <summary>
/// Limits how many calls are in flight at once, over everything that shares it: calls, chains, runs and runtimes. Also known as a bulkhead. Calls are served
/// first come, first served.
/// </summary>
/// <remarks>
/// <para>
/// One instance represents what must not be used by too many at once, such as a service or a database. Pass the same instance to everything that uses it. At no
/// moment are there more calls in flight than <see cref="Limit"/>, except while a limit that was lowered is being reached.
/// </para>
/// <para>
/// A caller asks <see cref="TryEnter()"/> or <see cref="EnterAsync"/> for a place and returns it exactly once, with <see cref="Leave()"/>.
/// <see cref="ExecuteAsync{TResult}(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)"/> does both around a call. Do not ask for a place while
/// holding one of the same limit: when all places are held by calls that do so, none of them ever continues.
/// </para>
/// <para>All members are thread-safe. A call that need not wait costs two compare-and-swaps, without a lock or an allocation.</para>
/// </remarks>
[DebuggerDisplay("{InUse} of {Limit} in use, {Waiting} wait")]
public sealed partial class SharedConcurrencyLimit : IMeteredPolicy, ICallPolicy, IConcurrencyLimitSetting
{
    // The word: the number of free permits, which is negative after the limit was lowered, and a bit that is set while calls wait or the lock is held. While
    // the bit is clear, any thread takes or returns a permit with a compare-and-swap. While it is set, only the holder of the lock changes the word, so plain
    // reads and writes do there. The bit is set before the queue is looked at, and cleared only when it is empty: otherwise a permit could be returned between
    // the look and the wait, and the call would wait for a permit that is free.
    private const long Closed = 1;
    private const long Place = 2;

    // A hundred calls that come together are no overload, even for a small limit.
    private const int UsualBurst = 100;

    private readonly Lock _lock = new();
    private readonly LinkedList<PlaceTurn> _waiting = [];
    private readonly PlaceUser _anyone;
    private long _word;
    private long _turns;
    private int _limit;
    private int _parked;

    // Those that no run holds back: single calls and those of chains. Under the lock.
    private int _single;
    private readonly int? _maxWaiting;

    /// <summary>Creates the limit.</summary>
    /// <param name="limit">How many calls may be in flight at once. At least 1.</param>
    /// <param name="maxWaiting">
    /// How many calls may wait for a place at once; one more is rejected with a <see cref="ConcurrencyLimitRejectedException"/>. 0 or more;
    /// <see cref="int.MaxValue"/> for any number; <see langword="null"/> for the default of <see cref="MaxWaiting"/>.
    /// </param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="limit"/> is less than 1, or <paramref name="maxWaiting"/> is negative.</exception>
    public SharedConcurrencyLimit(int limit, int? maxWaiting = null)
        : this(limit, maxWaiting, name: null)
    {
        PolicyRegistry.Add(this);
    }

    /// <summary>Creates a limit that is counted with those of the other keys.</summary>
    internal SharedConcurrencyLimit(int limit, int? maxWaiting, string? name)
    {
        Name = name;
        Require.AtLeast(1, limit, nameof(limit));
        Require.AtLeast(0, maxWaiting ?? 0, nameof(maxWaiting));
        _maxWaiting = maxWaiting;
        _limit = limit;
        _word = limit * Place;
        _anyone = new PlaceUser(this, null);
    }

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Limits of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>How many calls may be in flight at once.</summary>
    /// <value>
    /// At least 1. It can be changed at any time. If it is raised, waiting calls start at once. If it is lowered, running calls continue, and no call starts
    /// until enough have ended.
    /// </value>
    /// <exception cref="ArgumentOutOfRangeException">The value is less than 1.</exception>
    public int Limit
    {
        get => Volatile.Read(ref _limit);
        set
        {
            Require.AtLeast(1, value, nameof(Limit));
            ToldTurns<PlaceTurn> served;
            lock (_lock)
            {
                CloseNeedsLock();
                _word += Place * ((long)value - _limit);
                Volatile.Write(ref _limit, value);
                served = ServeNeedsLock();
            }

            served.Tell();
        }
    }

    /// <summary>How many calls may wait for a place at once. One more is rejected.</summary>
    /// <value>
    /// What the constructor was given; then items of runs count too. By default 100, or four times <see cref="Limit"/> if that is more; then it is about single
    /// calls and those of chains only, because a run holds back its own items.
    /// </value>
    /// <remarks>
    /// Without a bound, more calls than can be served make each of them wait longer than the last, until all come too late for their callers and are served all
    /// the same. With it, the calls that get a place are served in time. Four times the limit is a wait of about four calls.
    /// </remarks>
    public int MaxWaiting => _maxWaiting ?? Math.Max(UsualBurst, (int)Math.Min(int.MaxValue, 4L * Limit));

    /// <summary>How many places are in use. More than <see cref="Limit"/> for a while after it was lowered.</summary>
    public int InUse
    {
        get
        {
            lock (_lock)
            {
                return (int)(_limit - (Volatile.Read(ref _word) >> 1));
            }
        }
    }

    /// <summary>How many calls wait for a place.</summary>
    public int Waiting
    {
        get
        {
            lock (_lock)
            {
                return _waiting.Count + _parked;
            }
        }
    }

    void IMeteredPolicy.AddTo(PolicyCounts counts) => AddTo(counts);

    internal void AddTo(PolicyCounts counts)
    {
        lock (_lock)
        {
            counts.AddPlaces(_limit - (Volatile.Read(ref _word) >> 1), _limit, _waiting.Count + _parked);
        }
    }

    /// <summary>Whether nobody holds a place or waits for one.</summary>
    internal bool IsIdle => InUse == 0 && Waiting == 0;

    /// <summary>Takes a place if one is free and no call waits.</summary>
    /// <returns>Whether the caller has a place, which it returns with <see cref="Leave()"/>.</returns>
    public bool TryEnter()
    {
        long word = Volatile.Read(ref _word);
        while (word >= Place)
        {
            if ((word & Closed) != 0)
            {
                // Somebody holds the lock for a moment, or calls wait. Only the lock tells which.
                return TryEnter(_anyone);
            }

            long seen = Interlocked.CompareExchange(ref _word, word - Place, word);
            if (seen == word)
            {
                return true;
            }

            word = seen;
        }

        return false;
    }

    /// <summary>Waits for a place, behind all calls that already wait.</summary>
    /// <param name="cancellationToken">Ends the wait; then the caller has no place.</param>
    /// <returns>
    /// A task that has already completed, without an allocation, if there is nothing to wait for. When it has completed, the caller has a place.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    public ValueTask EnterAsync(CancellationToken cancellationToken = default) =>
        cancellationToken.IsCancellationRequested ? ValueTask.FromCanceled(cancellationToken)
        : TryEnter() ? ValueTask.CompletedTask
        : _anyone.EnterAsync(cancellationToken);

    /// <summary>Returns a place. Call it exactly once for each place.</summary>
    /// <exception cref="InvalidOperationException">More places were returned than taken.</exception>
    public void Leave()
    {
        long word = Volatile.Read(ref _word);
        while ((word & Closed) == 0)
        {
            if (word >= Place * (long)Volatile.Read(ref _limit))
            {
                break;
            }

            long seen = Interlocked.CompareExchange(ref _word, word + Place, word);
            if (seen == word)
            {
                return;
            }

            word = seen;
        }

        Leave(_anyone);
    }

    /// <summary>Makes a call without a result when a place is free, and returns the place when the call has ended, in whatever way.</summary>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="cancellationToken">Ends the wait for a place, and is passed to the call.</param>
    /// <returns>A task that completes when the call has ended. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled while the call waited for a place.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    public ValueTask ExecuteAsync(Func<CancellationToken, ValueTask> call, CancellationToken cancellationToken = default) =>
        CallShape.Ended(ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken));

    /// <summary>Does the same for a call that gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <inheritdoc cref="ExecuteAsync(Func{CancellationToken, ValueTask}, CancellationToken)"/>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">Ends the wait for a place, and is passed to the call.</param>
    public ValueTask ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Ended(ExecuteAsync(static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken));

    /// <summary>Makes a call when a place is free, and returns the place when the call has ended, in whatever way.</summary>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="cancellationToken">Ends the wait for a place, and is passed to the call.</param>
    /// <returns>The call's result. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled while the call waited for a place.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    public ValueTask<TResult> ExecuteAsync<TResult>(Func<CancellationToken, ValueTask<TResult>> call, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        return ExecuteAsync(static (call, token) => call(token), call, cancellationToken);
    }

    /// <summary>Does the same for a call that gets a state, so that it needs no closure.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">Ends the wait for a place, and is passed to the call.</param>
    /// <returns>The call's result. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled while the call waited for a place.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<TResult> ExecuteAsync<TState, TResult>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        await EnterAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            // A wait may end just before it hears of it.
            cancellationToken.ThrowIfCancellationRequested();
            return await call(state, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            Leave();
        }
    }
}

using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Observability;

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
/// A caller asks <see cref="TryEnter()"/> or <see cref="EnterAsync"/> for a permit and returns it exactly once, with <see cref="Leave()"/>.
/// <see cref="ExecuteAsync{TResult}(Func{CancellationToken, ValueTask{TResult}}, CancellationToken)"/> does both around a call. Do not ask for a permit while
/// holding one of the same limit: when all permits are held by calls that do so, none of them ever continues.
/// </para>
/// <para>All members are thread-safe. A call that need not wait costs two compare-and-swaps, without a lock or an allocation.</para>
/// </remarks>
[DebuggerDisplay("{InUse} of {Limit} in use, {Waiting} wait")]
public class SharedConcurrencyLimit : IMeteredPolicy, ICallPolicy, IConcurrencyLimitSetting
{
    // Two halves. While nobody waits, a permit is taken and returned by a compare-and-swap of the word alone. While anybody waits, and for each user with a
    // bound of its own (a run), everything is done under _lock: CloseNeedsLock first, which makes all others come to the lock too; then what is to be done;
    // then ServeNeedsLock, which gives free permits to the first in the queue; last OpenNeedsLock, which allows the first half again if nobody waits. Those who
    // got a permit are told without the lock. So at no moment is a permit free while somebody waits who could use it.
    //
    // A permit is returned exactly once, by the one who holds it. A waiter that is told has its permit already: it uses it, or drops it.
    //
    // A law may move the limit (AdaptiveLimit). It learns of the calls from those who hold the permits: BeginCall where the call begins, after all waits, and
    // CallEnded while the permit is still held, so that the call counts as one in flight.
    //
    // The queue is in the order of the waiters' numbers, and NumberNeedsLock alone decides it. Usually, a number is that of the arrival. A call of a lower priority
    // gets a number so much higher that as many calls as may wait pass it, and no more: it ages, and does not starve. Newest first, the number is that of a call
    // that came just before all that wait, and not before all that ever came: so it passes none of a higher priority. When the queue is full, the last single call
    // goes, which may be the one that has come.
    //
    // A single call with a deadline that it cannot meet is refused, when it comes and once more when its turn has come: those that came after it with a higher
    // priority have made it wait longer than it seemed. Served all the same, it would take a permit for an answer that nobody waits for. The clock is the user's:
    // it is read before the lock is taken. If no turn comes at all, because no call ends, a timer ends its wait when its time is up.
    private const long Closed = 1;
    private const long Permit = 2;

    // A hundred calls that come together are no overload, even for a small limit.
    private const int UsualBurst = 100;

    // A caller's own time began before its call came here.
    private const double NearlyAll = 0.8;

    // How many calls may pass one of a lower priority, however many may wait.
    private const int MostPassing = 10_000;

    // Immutable.
    private readonly Lock _lock = new();
    private readonly PermitUser _anyone;
    private readonly int? _maxWaiting;
    private readonly AdaptiveController? _law;
    private readonly bool _newestFirst;
    private readonly Func<Exception, bool>? _isFailure;

    // Volatile: set when the first call with a deadline waits. Before that, nobody reads a clock.
    private volatile bool _hasDeadlines;

    // Under _lock. Parked are those whose user holds as many permits as it can use; single are those that no run holds back: single calls and those of chains.
    private readonly LinkedList<PermitWaiter> _waiting = [];
    private long _lastNumber;
    private int _parked;
    private int _single;

    // Atomic: the number of free permits, which is negative after the limit was lowered, and a bit that is set while calls wait or the lock is held. While the
    // bit is clear, any thread takes or returns a permit with a compare-and-swap. While it is set, only the holder of the lock changes the word, so plain reads
    // and writes do there. The bit is set before the queue is looked at, and cleared only when it is empty: otherwise a permit could be returned between the
    // look and the wait, and the call would wait for a permit that is free.
    private long _word;

    // Atomic: changed under _lock, read by any thread.
    private int _limit;

    /// <summary>Creates the limit.</summary>
    /// <param name="limit">How many calls may be in flight at once. At least 1.</param>
    /// <param name="maxWaiting">
    /// How many calls may wait for a permit at once; one more is rejected with a <see cref="ConcurrencyLimitRejectedException"/>. 0 or more;
    /// <see cref="int.MaxValue"/> for any number; <see langword="null"/> for the default of <see cref="MaxWaiting"/>.
    /// </param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="limit"/> is less than 1, or <paramref name="maxWaiting"/> is negative.</exception>
    public SharedConcurrencyLimit(int limit, int? maxWaiting = null)
        : this(limit, maxWaiting, name: null)
    {
        PolicyRegistry.Add(this);
    }

    /// <summary>Creates a limit that is not counted by itself: one that is counted with those of the other keys, or one that a law moves.</summary>
    internal SharedConcurrencyLimit(int limit, int? maxWaiting, string? name, AdaptiveController? law = null, bool newestFirst = false, Func<Exception, bool>? isFailure = null)
    {
        _isFailure = isFailure;
        _law = law;
        _newestFirst = newestFirst;
        Name = name;
        Require.AtLeast(1, limit, nameof(limit));
        Require.AtLeast(0, maxWaiting ?? 0, nameof(maxWaiting));
        _maxWaiting = maxWaiting;
        _limit = limit;
        _word = limit * Permit;
        _anyone = new PermitUser(this, null);
    }

    /// <summary>What metrics call it, in the attribute <c>weir.policy.name</c>, such as the name of the called service.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for no name. Limits of one name are counted together, and each name is a time series: use few.
    /// </value>
    public string? Name { get; init; }

    /// <summary>How many calls may be in flight at once.</summary>
    /// <value>
    /// At least 1. It can be changed at any time. If it is raised, waiting calls start at once. If it is lowered, running calls continue, and no call starts
    /// until enough have ended. That of an <see cref="AdaptiveLimit"/> is moved by its law alone.
    /// </value>
    /// <exception cref="ArgumentOutOfRangeException">The value is less than 1.</exception>
    /// <exception cref="InvalidOperationException">It is an <see cref="AdaptiveLimit"/>.</exception>
    public int Limit
    {
        get => Volatile.Read(ref _limit);
        set
        {
            Require.AtLeast(1, value, nameof(Limit));
            if (_law is not null)
            {
                throw new InvalidOperationException(
                    "The Limit of an AdaptiveLimit is moved by its law: set MinConcurrency and MaxConcurrency where it is made.");
            }

            SetLimit(value);
        }
    }

    /// <summary>How many calls may wait for a permit at once. One more is rejected.</summary>
    /// <value>
    /// What the constructor was given; then items of runs count too. By default 100, or four times <see cref="Limit"/> if that is more; then it is about single
    /// calls and those of chains only, because a run holds back its own items.
    /// </value>
    /// <remarks>
    /// Without a bound, more calls than can be served make each of them wait longer than the last, until all come too late for their callers and are served all
    /// the same. With it, the calls that get a permit are served in time. Four times the limit is a wait of about four calls.
    /// </remarks>
    public int MaxWaiting => _maxWaiting ?? Math.Max(UsualBurst, (int)Math.Min(int.MaxValue, 4L * Limit));

    /// <summary>How many permits are in use. More than <see cref="Limit"/> for a while after it was lowered.</summary>
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

    /// <summary>How many calls wait for a permit.</summary>
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

    LiveEntry IMeteredPolicy.Show()
    {
        PolicyCounts counts = new();
        AddTo(counts);
        return counts.Permits(this, GetType().Name) with { Actions = _law is null ? [LiveAction.SetLimit] : [] };
    }

    internal void AddTo(PolicyCounts counts)
    {
        lock (_lock)
        {
            counts.AddPermits(_limit - (Volatile.Read(ref _word) >> 1), _limit, _waiting.Count + _parked);
        }
    }

    /// <summary>Whether nobody holds a permit or waits for one.</summary>
    internal bool IsIdle => InUse == 0 && Waiting == 0;

    // What a law learns. The clock is the user's: a call for which it throws is not measured, and nothing else comes of it.

    [ThreadStatic]
    private static uint _calls;

    /// <summary>A call begins for which somebody has a permit.</summary>
    /// <returns>What <c>CallEnded</c> gets: when it began, and one more; 0 if it is not measured.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal long BeginCall() => _law is null ? 0 : BeginCall(_law);

    /// <summary>A call has succeeded, whose permit has not been returned yet.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void CallSucceeded(long begun)
    {
        if (begun != 0)
        {
            CallEnded(_law!, begun - 1, succeeded: true);
        }
    }

    /// <summary>A call has failed, whose permit has not been returned yet.</summary>
    /// <param name="begun">What <see cref="BeginCall()"/> returned.</param>
    /// <param name="error">Its exception.</param>
    /// <param name="token">The token that the call was given: the caller's, or one that a time limit around it cancels too.</param>
    /// <param name="callerToken">The token of the caller or of the run. What it has cancelled says nothing about the called service.</param>
    internal void CallFailed(long begun, Exception error, CancellationToken token, CancellationToken callerToken)
    {
        if (begun == 0)
        {
            return;
        }

        if (error is OperationCanceledException && token.IsCancellationRequested)
        {
            if (!callerToken.IsCancellationRequested)
            {
                // A time limit has ended the call, though the exception does not say so.
                CallEnded(_law!, begun - 1, succeeded: false);
            }

            return;
        }

        bool? isFailure = true;
        try
        {
            isFailure = ServiceFailure.Of(error, _isFailure);
        }
        catch (Exception)
        {
            // The user's function: what it cannot judge is a failure, as it would be without it.
        }

        if (isFailure is { } failed)
        {
            CallEnded(_law!, begun - 1, !failed);
        }
    }

    private static long BeginCall(AdaptiveController law)
    {
        try
        {
            return law.Measures(_calls++) ? law.Timestamp() + 1 : 0;
        }
        catch (Exception)
        {
            return 0;
        }
    }

    private void CallEnded(AdaptiveController law, long begun, bool succeeded)
    {
        long now;
        try
        {
            now = law.Timestamp();
        }
        catch (Exception)
        {
            return;
        }

        // Read without the lock: a call more or less in flight is nothing to a mean.
        int inFlight = Volatile.Read(ref _limit) - (int)(Volatile.Read(ref _word) >> 1);
        law.Record(begun, now, Math.Max(1, inFlight), succeeded);
    }

    /// <summary>Changes the limit. Under no lock.</summary>
    internal void SetLimit(int value)
    {
        ToldWaiters<PermitWaiter> served;
        long now = NowForDeadlines();
        lock (_lock)
        {
            CloseNeedsLock();
            _word += Permit * ((long)value - _limit);
            Volatile.Write(ref _limit, value);
            served = ServeNeedsLock(now);
        }

        served.Tell();
    }

    /// <summary>The limit, the permits in use and the calls that wait, at one moment.</summary>
    internal (int Limit, int InUse, int Waiting) Read()
    {
        lock (_lock)
        {
            return (_limit, (int)(_limit - (Volatile.Read(ref _word) >> 1)), _waiting.Count + _parked);
        }
    }

    /// <summary>Takes a permit if one is free and no call waits.</summary>
    /// <returns>Whether the caller has a permit, which it returns with <see cref="Leave()"/>.</returns>
    public bool TryEnter()
    {
        long word = Volatile.Read(ref _word);
        while (word >= Permit)
        {
            if ((word & Closed) != 0)
            {
                // Somebody holds the lock for a moment, or calls wait. Only the lock tells which.
                return TryEnter(_anyone);
            }

            long seen = Interlocked.CompareExchange(ref _word, word - Permit, word);
            if (seen == word)
            {
                return true;
            }

            word = seen;
        }

        return false;
    }

    /// <summary>Waits for a permit, behind all calls that already wait.</summary>
    /// <param name="cancellationToken">Ends the wait; then the caller has no permit.</param>
    /// <returns>
    /// A task that has already completed, without an allocation, if there is nothing to wait for. When it has completed, the caller has a permit.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    public ValueTask EnterAsync(CancellationToken cancellationToken = default) => EnterForAsync(_anyone, cancellationToken);

    private ValueTask EnterForAsync(PermitUser user, CancellationToken cancellationToken) =>
        cancellationToken.IsCancellationRequested ? ValueTask.FromCanceled(cancellationToken)
        : TryEnter() ? ValueTask.CompletedTask
        : user.EnterAsync(cancellationToken);

    /// <summary>Returns a permit. Call it exactly once for each permit.</summary>
    /// <exception cref="InvalidOperationException">More permits were returned than taken.</exception>
    public void Leave()
    {
        long word = Volatile.Read(ref _word);
        while ((word & Closed) == 0)
        {
            if (word >= Permit * (long)Volatile.Read(ref _limit))
            {
                break;
            }

            long seen = Interlocked.CompareExchange(ref _word, word + Permit, word);
            if (seen == word)
            {
                return;
            }

            word = seen;
        }

        Leave(_anyone);
    }

    /// <summary>Makes a call without a result when a permit is free, and returns the permit when the call has ended, in whatever way.</summary>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="cancellationToken">Ends the wait for a permit, and is passed to the call.</param>
    /// <returns>A task that completes when the call has ended. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled while the call waited for a permit.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    public ValueTask ExecuteAsync(Func<CancellationToken, ValueTask> call, CancellationToken cancellationToken = default) =>
        CallShape.Ended(ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken));

    /// <summary>Makes a call that gets a state, so that it needs no closure, when a permit is free. Returns the permit when the call has ended, in any way.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <inheritdoc cref="ExecuteAsync(Func{CancellationToken, ValueTask}, CancellationToken)"/>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">Ends the wait for a permit, and is passed to the call.</param>
    public ValueTask ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask> call, TState state, CancellationToken cancellationToken = default) =>
        CallShape.Ended(ExecuteAsync(static (s, token) => CallShape.Of(s.Call(s.State, token)), CallShape.Of(call, state), cancellationToken));

    /// <summary>Makes a call when a permit is free, and returns the permit when the call has ended, in whatever way.</summary>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="cancellationToken">Ends the wait for a permit, and is passed to the call.</param>
    /// <returns>The call's result. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled while the call waited for a permit.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    public ValueTask<TResult> ExecuteAsync<TResult>(Func<CancellationToken, ValueTask<TResult>> call, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        return ExecuteAsync(static (call, token) => call(token), call, cancellationToken);
    }

    /// <summary>Makes a call that gets a state, so that it needs no closure, when a permit is free. Returns the permit when the call has ended, in any way.</summary>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <typeparam name="TResult">The type of the call's result.</typeparam>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">Ends the wait for a permit, and is passed to the call.</param>
    /// <returns>The call's result. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled while the call waited for a permit.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException"><see cref="MaxWaiting"/> calls already wait.</exception>
    public ValueTask<TResult> ExecuteAsync<TState, TResult>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default) =>
        ExecuteAsync(_anyone, call, state, cancellationToken);

    /// <summary>Makes a call of one user without a bound of its own.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    internal async ValueTask<TResult> ExecuteAsync<TState, TResult>(
        PermitUser user, Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(call);
        long came = user.Within is null ? long.MinValue : Now();
        await EnterForAsync(user, cancellationToken).ConfigureAwait(false);
        long begun = 0;
        try
        {
            // A wait may end just before it hears of it.
            cancellationToken.ThrowIfCancellationRequested();
            begun = BeginCall();
            TResult result = await call(state, cancellationToken).ConfigureAwait(false);
            CallSucceeded(begun);
            return result;
        }
        catch (Exception error) when (begun != 0)
        {
            if (error is OperationCanceledException && cancellationToken.IsCancellationRequested && HasLeftTooLate(user, came))
            {
                CallEnded(_law!, begun - 1, succeeded: false);
            }
            else
            {
                CallFailed(begun, error, cancellationToken, cancellationToken);
            }

            throw;
        }
        finally
        {
            Leave();
        }
    }

    // The half with the lock: calls that wait, and users that hold no more permits than they can use.

    /// <summary>Takes a permit for a user, if one is free and no call waits.</summary>
    internal bool TryEnter(PermitUser user)
    {
        lock (_lock)
        {
            CloseNeedsLock();
            bool entered = TryTakeNeedsLock(user);
            OpenNeedsLock();
            return entered;
        }
    }

    /// <summary>Takes a permit, or a position in the queue.</summary>
    /// <param name="user">Who wants it.</param>
    /// <param name="within">In what time its call has to end; null for any.</param>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait, or the call would end too late.</exception>
    internal PermitWaiter Queue(PermitUser user, TimeSpan? within = null)
    {
        PermitWaiter waiter = new(user);
        if (within is { } time && _law is not null)
        {
            _hasDeadlines = true;
            waiter.Within = time;
            waiter.Deadline = NowForDeadlines() is var now and not long.MinValue ? now + _law.ToTicks(time) : double.MaxValue;
        }

        ToldWaiters<PermitWaiter> served = default;
        bool rejected = false;
        PermitWaiter? shed = null;
        TimeSpan? late = null;
        lock (_lock)
        {
            CloseNeedsLock();
            if (TryTakeNeedsLock(user))
            {
                waiter.State = PermitWaiterState.Served;
                served.Add(waiter);
            }
            else
            {
                waiter.Arrival = ArrivalNeedsLock();
                waiter.Number = NumberNeedsLock(waiter.Arrival, user.Priority);
                bool isFull = _maxWaiting is { } most ? _waiting.Count + _parked >= most : user.IsSingle && _single >= MaxWaiting;
                rejected = isFull && (shed = BehindNeedsLock(waiter)) is null;
                late = rejected || within is null ? null : TooLateNeedsLock(waiter, within.Value);
                if (rejected || late is not null)
                {
                    shed = null;
                }
                else
                {
                    if (shed is not null)
                    {
                        RemoveNeedsLock(shed);
                    }

                    _lastNumber++;
                    _single += user.IsSingle ? 1 : 0;
                    waiter.AddTo(_waiting);
                }
            }

            OpenNeedsLock();
        }

        if (shed is not null)
        {
            PolicyListeners.Rejected(this, PolicyListeners.AtLimit, shed.User.Priority > user.Priority ? RejectionReason.Priority : RejectionReason.NewestFirst);
            shed.Reject(new ConcurrencyLimitRejectedException(Limit, MaxWaiting));
        }

        if (rejected)
        {
            PolicyListeners.Rejected(this, PolicyListeners.AtLimit, RejectionReason.QueueFull);
            throw new ConcurrencyLimitRejectedException(Limit, MaxWaiting);
        }

        if (late is { } needed)
        {
            PolicyListeners.Rejected(this, PolicyListeners.AtLimit, RejectionReason.Deadline);
            throw ConcurrencyLimitRejectedException.TooLate(Limit, MaxWaiting, needed, within!.Value);
        }

        served.Tell();
        return waiter;
    }

    /// <summary>When a call that comes now counts as having come, for those of its priority.</summary>
    private long ArrivalNeedsLock()
    {
        // A queue of fewer calls than are in flight is no overload: each waits for less than a call.
        if (!_newestFirst || _waiting.Count < _limit)
        {
            return _lastNumber + 1;
        }

        long first = long.MaxValue;
        foreach (PermitWaiter waiter in _waiting)
        {
            first = Math.Min(first, waiter.Arrival);
        }

        return first - 1;
    }

    /// <summary>The place of a call in the order of the queue.</summary>
    private long NumberNeedsLock(long arrival, CallPriority priority)
    {
        // The last of those that may pass would have the same place, so there are places between the arrivals.
        const int Between = 4;
        return (Between * arrival) + ((long)priority * ((Between * Math.Min(MaxWaiting, MostPassing)) + 1));
    }

    /// <summary>The last single call in the queue, if it comes after this one; null if there is none.</summary>
    private PermitWaiter? BehindNeedsLock(PermitWaiter waiter)
    {
        for (LinkedListNode<PermitWaiter>? last = _waiting.Last; last is not null && last.Value.Number > waiter.Number; last = last.Previous)
        {
            if (last.Value.User.IsSingle)
            {
                return last.Value;
            }
        }

        return null;
    }

    /// <summary>
    /// How long a call would need, with its wait, if that is longer than it may; otherwise null. While calls wait, as many end in a second as are in flight,
    /// divided by their latency: so its wait is the latency for each round of calls before it. Then it needs its own time, of which the mean is too little: half
    /// of the calls would end too late.
    /// </summary>
    private TimeSpan? TooLateNeedsLock(PermitWaiter waiter, TimeSpan within)
    {
        if (_law is null)
        {
            return null;
        }

        double rounds = (waiter.CountBefore(_waiting) + 1.0) / _limit;
        double needed = _law.ToTime((_law.Latency * rounds) + _law.LikelyLatency).TotalSeconds;
        return needed > within.TotalSeconds ? TimeSpan.FromSeconds(Math.Min(needed, TimerDelay.Longest.TotalSeconds)) : null;
    }

    /// <summary>Returns a user's permit. It goes to the first call in the queue that can start now.</summary>
    internal void Leave(PermitUser user)
    {
        ToldWaiters<PermitWaiter> served;
        long now = NowForDeadlines();
        lock (_lock)
        {
            CloseNeedsLock();
            bool taken = _word >> 1 < _limit;
            if (taken)
            {
                _word += Permit;
                user.Held--;
                UnparkNeedsLock(user);
            }

            served = ServeNeedsLock(now);
            if (!taken)
            {
                throw new InvalidOperationException("More permits were returned than taken.");
            }
        }

        served.Tell();
    }

    /// <summary>A user can use more permits than before.</summary>
    internal void UseMore(PermitUser user)
    {
        ToldWaiters<PermitWaiter> served;
        long now = NowForDeadlines();
        lock (_lock)
        {
            CloseNeedsLock();
            UnparkNeedsLock(user);
            served = ServeNeedsLock(now);
        }

        served.Tell();
    }

    /// <summary>Takes a call out of the queue.</summary>
    /// <returns>False if it no longer waits.</returns>
    internal bool TryRemove(PermitWaiter waiter)
    {
        ToldWaiters<PermitWaiter> served;
        long now = NowForDeadlines();
        lock (_lock)
        {
            if (waiter.State != PermitWaiterState.Waiting)
            {
                return false;
            }

            CloseNeedsLock();
            RemoveNeedsLock(waiter);
            served = ServeNeedsLock(now);
        }

        served.Tell();
        return true;
    }

    private void RemoveNeedsLock(PermitWaiter waiter)
    {
        waiter.State = PermitWaiterState.Removed;
        _single -= waiter.User.IsSingle ? 1 : 0;
        if (waiter.Node.List != _waiting)
        {
            _parked--;
        }

        waiter.Node.List!.Remove(waiter.Node);
    }

    /// <summary>From here on, no call takes or returns a permit without the lock.</summary>
    private void CloseNeedsLock()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The limit's lock is held.");
        Interlocked.Or(ref _word, Closed);
    }

    private bool TryTakeNeedsLock(PermitUser user)
    {
        if (_waiting.Count > 0 || _word < Permit)
        {
            return false;
        }

        TakeNeedsLock(user);
        return true;
    }

    private void TakeNeedsLock(PermitUser user)
    {
        _word -= Permit;
        user.Held++;
    }

    /// <summary>
    /// Gives free permits to the first calls in the queue. A call whose user already holds as many permits as it can use lets others pass, because its permit
    /// would lie idle. It keeps its number, and returns to its old position when its user returns a permit or can use more.
    /// </summary>
    /// <param name="now">What <see cref="NowForDeadlines"/> returned.</param>
    /// <returns>The calls that got a permit, and those whose turn has come too late, to be told without the lock.</returns>
    private ToldWaiters<PermitWaiter> ServeNeedsLock(long now)
    {
        ToldWaiters<PermitWaiter> served = default;
        while (_word >= Permit && _waiting.First is { } node)
        {
            PermitWaiter waiter = node.Value;
            if (waiter.User.IsSingle && now + (_law?.LikelyLatency ?? 0) > waiter.Deadline)
            {
                RemoveNeedsLock(waiter);
                served.Add(waiter);
                continue;
            }

            _waiting.RemoveFirst();
            if (waiter.User.Held >= waiter.User.Most)
            {
                waiter.User.Parked.AddLast(node);
                _parked++;
                continue;
            }

            TakeNeedsLock(waiter.User);
            waiter.State = PermitWaiterState.Served;
            _single -= waiter.User.IsSingle ? 1 : 0;
            served.Add(waiter);
        }

        OpenNeedsLock();
        return served;
    }

    /// <summary>Makes the timer that ends the wait of a call whose time is up, although its turn has not come. Under no lock.</summary>
    /// <returns>Null if the clock is the user's and fails, or there is none: then it waits for its turn.</returns>
    internal ITimer? TimerOf(PermitWaiter waiter, TimeSpan within)
    {
        try
        {
            // Without the execution context of the one that waits.
            using (ExecutionContext.IsFlowSuppressed() ? default : ExecutionContext.SuppressFlow())
            {
                return _law?.Time.CreateTimer(
                    static waiter => Unattended.Run((PermitWaiter)waiter!, static waiter => waiter.TimeIsUp()),
                    waiter,
                    TimerDelay.RoundUp(within),
                    Timeout.InfiniteTimeSpan);
            }
        }
        catch (Exception)
        {
            return null;
        }
    }

    /// <summary>The time by which deadlines are judged; the least there is if no call has one. Under no lock.</summary>
    private long NowForDeadlines() => _hasDeadlines ? Now() : long.MinValue;

    /// <summary>The time by the law's clock; the least there is if there is none, or it fails. Under no lock.</summary>
    private long Now()
    {
        try
        {
            return _law?.Timestamp() ?? long.MinValue;
        }
        catch (Exception)
        {
            return long.MinValue;
        }
    }

    /// <summary>
    /// Whether a caller who has cancelled has waited for nearly all of the time that its call had: then the call has failed, though its caller says that it only
    /// wants it no more. Otherwise the law would see no call at all where all callers leave, and leave the limit as high as it is.
    /// </summary>
    private bool HasLeftTooLate(PermitUser user, long came) =>
        came != long.MinValue && Now() is var now && now > came && now - came >= NearlyAll * _law!.ToTicks(user.Within!.Value);

    /// <summary>The last step of every change.</summary>
    private void OpenNeedsLock()
    {
        AssertInvariantsNeedsLock();
        if (_waiting.Count == 0)
        {
            Interlocked.And(ref _word, ~Closed);
        }
    }

    private void UnparkNeedsLock(PermitUser user)
    {
        for (int back = 0; user.HasParked && user.Held + back < user.Most; back++)
        {
            LinkedListNode<PermitWaiter> node = user.Parked.First!;
            user.Parked.RemoveFirst();
            _parked--;

            // Those behind it are younger, and it is usually older than all.
            node.Value.InsertInto(_waiting);
        }
    }

    [Conditional("DEBUG")]
    private void AssertInvariantsNeedsLock()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The limit's lock is held.");
        Debug.Assert(_word >> 1 <= _limit, "No more permits are free than there are.");
        Debug.Assert(_waiting.Count == 0 || _word < Permit, "While a permit is free, nobody waits who could use it.");
        Debug.Assert(_parked >= 0, "Parked calls are not negative.");
        Debug.Assert(_single >= 0 && _single <= _waiting.Count, "Single calls that wait are in the queue.");
    }
}

/// <summary>
/// Everything that uses a <see cref="SharedConcurrencyLimit"/> under one bound of its own. A run is one: it never gets more permits than it may have items in
/// flight, because the others would lie idle.
/// </summary>
/// <param name="limit">The limit.</param>
/// <param name="most">How many permits the user can use at once, at least 1; null for any number. Called under the limit's lock.</param>
internal sealed class PermitUser(SharedConcurrencyLimit limit, Func<int>? most) : IPermit
{
    public SharedConcurrencyLimit Limit => limit;

    /// <summary>Whether its calls come one by one, and nobody holds them back while they wait.</summary>
    public bool IsSingle => most is null;

    /// <summary>The priority of its calls.</summary>
    public CallPriority Priority { get; init; }

    /// <summary>In what time each of its calls has to end, the wait included; null for any.</summary>
    public TimeSpan? Within { get; init; }

    /// <summary>The user of the limit that an option names, or null if it names none.</summary>
    /// <param name="setting">The option.</param>
    /// <param name="ofKey">The limit of a key, if the option has one for each.</param>
    /// <param name="most">As that of the constructor.</param>
    public static PermitUser? Of(IConcurrencyLimitSetting? setting, SharedConcurrencyLimit? ofKey, Func<int>? most) => setting switch
    {
        ICallShare share when ofKey is not null => new PermitUser(ofKey, most) { Priority = share.Priority, Within = share.Within },
        SharedConcurrencyLimit limit => new PermitUser(limit, most),
        ILimitShare share => new PermitUser(share.Limit, most) { Priority = share.Priority, Within = share.Within },
        _ => null,
    };

    public int Most => most is null ? int.MaxValue : most();

    /// <summary>How many permits it holds. Not counted without a bound. Guarded by the limit's lock.</summary>
    public int Held { get; set; }

    /// <summary>Its waiters that let others pass, oldest first. Guarded by the limit's lock.</summary>
    public LinkedList<PermitWaiter> Parked => field ??= [];

    public bool HasParked => most is not null && Parked.Count > 0;

    public bool TryEnter() => most is null ? limit.TryEnter() : limit.TryEnter(this);

    /// <summary>Returns one of its permits.</summary>
    public void Leave()
    {
        if (most is null)
        {
            limit.Leave();
        }
        else
        {
            limit.Leave(this);
        }
    }

    /// <summary>Its bound was raised: waiters that let others pass before return to the queue if they can be served now.</summary>
    public void UseMore() => limit.UseMore(this);

    /// <summary>Takes a permit, or a position in the queue.</summary>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait, or the call would end too late.</exception>
    public PermitWaiter Queue() => limit.Queue(this, Within);

    /// <summary>Waits for a permit.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="within">In what time the call has to end; null for any, or for <see cref="Within"/>, whichever is shorter.</param>
    public ValueTask EnterAsync(CancellationToken cancellationToken, TimeSpan? within = null)
    {
        PermitWaiter waiter;
        try
        {
            waiter = limit.Queue(this, within is null || Within < within ? Within : within);
        }
        catch (ConcurrencyLimitRejectedException rejection)
        {
            return ValueTask.FromException(rejection);
        }

        return waiter.Served.IsCompletedSuccessfully ? default : WaitAsync(waiter, cancellationToken);
    }

    private async ValueTask WaitAsync(PermitWaiter waiter, CancellationToken cancellationToken)
    {
        // The time of a chain is another one's to end.
        using (Within is { } time ? limit.TimerOf(waiter, time) : null)
        using (cancellationToken.UnsafeRegister(
            static (waiter, token) => Unattended.Run((PermitWaiter)waiter!, static (waiter, token) => waiter.Cancel(token), token), waiter))
        {
            await waiter.Served.ConfigureAwait(false);
        }
    }
}

/// <summary>A call in the queue of a <see cref="SharedConcurrencyLimit"/>. Its caller either uses the permit that it gets, or drops it.</summary>
/// <param name="user">For whom it waits. While that user holds as many permits as it can use, the waiter is among the user's parked ones.</param>
internal sealed class PermitWaiter(PermitUser user) : QueueWaiter<PermitWaiter>(tellsAtOnce: false), IUnattended
{
    public PermitUser User => user;

    /// <summary>When it came, as a number, without what its priority makes of it.</summary>
    public long Arrival { get; set; }

    /// <summary>
    /// Changed under the limit's lock. Its holder may read it without: a waiter that is served just then looks as if it waited, and its holder is told.
    /// </summary>
    public PermitWaiterState State { get; set; }

    /// <summary>When its call has to have ended, in ticks of the law's clock.</summary>
    public double Deadline { get; set; } = double.MaxValue;

    /// <summary>In what time that was when it came.</summary>
    public TimeSpan Within { get; set; }

    /// <summary>Its turn has come: it has a permit, or it has come too late for one.</summary>
    internal override void Tell()
    {
        if (State == PermitWaiterState.Removed)
        {
            PolicyListeners.Rejected(user.Limit, PolicyListeners.AtLimit, RejectionReason.Deadline);
            StopWaiting(ConcurrencyLimitRejectedException.WaitedTooLong(user.Limit.Limit, user.Limit.MaxWaiting, Within));
        }
        else
        {
            base.Tell();
        }
    }

    /// <summary>Leaves the queue because its time is up. A waiter that already has a permit keeps it.</summary>
    public void TimeIsUp()
    {
        if (user.Limit.TryRemove(this))
        {
            PolicyListeners.Rejected(user.Limit, PolicyListeners.AtLimit, RejectionReason.Deadline);
            StopWaiting(ConcurrencyLimitRejectedException.NoTurn(user.Limit.Limit, user.Limit.MaxWaiting, Within));
        }
    }

    /// <summary>Leaves the queue because its caller has cancelled. A waiter that already has a permit keeps it.</summary>
    public void Cancel(CancellationToken cancellationToken)
    {
        if (user.Limit.TryRemove(this))
        {
            StopWaiting(cancellationToken);
        }
    }

    /// <summary>It was taken out of the queue for another call. Under no lock.</summary>
    public void Reject(ConcurrencyLimitRejectedException rejection) => StopWaiting(rejection);

    /// <summary>It could not be cancelled: its caller, who waits, gets the error. A waiter that already has a permit keeps it.</summary>
    void IUnattended.WorkFailed(Exception error)
    {
        if (user.Limit.TryRemove(this) || State == PermitWaiterState.Removed)
        {
            StopWaiting(error);
        }
    }

    /// <summary>Leaves the queue, or returns the permit. Called at most once, by the caller that would otherwise use the permit.</summary>
    public void Drop()
    {
        if (!user.Limit.TryRemove(this))
        {
            user.Leave();
        }
    }
}

/// <summary>How far a <see cref="PermitWaiter"/> is.</summary>
internal enum PermitWaiterState
{
    /// <summary>In the queue.</summary>
    Waiting,

    /// <summary>It has a permit.</summary>
    Served,

    /// <summary>It left the queue without a permit.</summary>
    Removed,
}

/// <summary>A permit of a <see cref="SharedConcurrencyLimit"/> that an attempt holds.</summary>
internal interface IPermit
{
    /// <summary>Returns it.</summary>
    void Leave();
}

/// <summary>
/// The permit of a call under a time limit that gives the call up while it runs. At the limit, the permit is returned, because the call may never end. A call
/// that its own caller cancelled keeps its permit until it ends.
/// </summary>
internal sealed class TimedPermit : IPermit, IUnattended
{
    private readonly IPermit _permit;
    private readonly CancellationToken _callerToken;
    private readonly CancellationTokenRegistration _link;

    // Atomic: 1 once the permit is returned. The end of the call and its time limit race for that, and the exchange lets one of them return it: returned twice, the
    // permit would let one call too many in.
    private int _left;

    /// <summary>Takes over a permit.</summary>
    /// <param name="permit">The permit.</param>
    /// <param name="token">Cancelled at the time limit and by the caller.</param>
    /// <param name="callerToken">Cancelled by the caller only.</param>
    public TimedPermit(IPermit permit, CancellationToken token, CancellationToken callerToken)
    {
        _permit = permit;
        _callerToken = callerToken;
        _link = token.UnsafeRegister(static permit => Unattended.Run((TimedPermit)permit!, static permit => permit.Cancelled()), this);
    }

    public void Leave()
    {
        _link.Unregister();
        LeaveOnce();
    }

    /// <summary>The permit could not be returned: tries once more. Nothing else returns it if the call never ends.</summary>
    void IUnattended.WorkFailed(Exception error) => Cancelled();

    private void Cancelled()
    {
        if (!_callerToken.IsCancellationRequested)
        {
            LeaveOnce();
        }
    }

    private void LeaveOnce()
    {
        if (Interlocked.Exchange(ref _left, 1) == 0)
        {
            _permit.Leave();
        }
    }
}

/// <summary>
/// The call was not made, because too many calls already wait for a permit of a <see cref="SharedConcurrencyLimit"/>, or because it would have ended too late.
/// </summary>
public sealed class ConcurrencyLimitRejectedException : Exception
{
    /// <summary>Creates the exception.</summary>
    public ConcurrencyLimitRejectedException()
        : this("The concurrency limit has been reached, and too many calls already wait.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public ConcurrencyLimitRejectedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public ConcurrencyLimitRejectedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    /// <summary>Creates the exception for a rejected call.</summary>
    /// <param name="limit">The limit.</param>
    /// <param name="maxWaiting">How many calls may wait.</param>
    public ConcurrencyLimitRejectedException(int limit, int maxWaiting)
        : base($"All {limit} permits of the concurrency limit are in use, and {maxWaiting} calls, the most allowed, already wait. The limit's maxWaiting sets how many may.")
    {
        Limit = limit;
        MaxWaiting = maxWaiting;
    }

    private ConcurrencyLimitRejectedException(string message, int limit, int maxWaiting)
        : base(message)
    {
        Limit = limit;
        MaxWaiting = maxWaiting;
    }

    /// <summary>A call that would have ended too late.</summary>
    internal static ConcurrencyLimitRejectedException TooLate(int limit, int maxWaiting, TimeSpan needed, TimeSpan within) => new(
        $"With the calls that already wait at the concurrency limit of {limit}, this one would need about {needed}, but it has to end within {within}.",
        limit,
        maxWaiting);

    /// <summary>A call whose turn came too late.</summary>
    internal static ConcurrencyLimitRejectedException WaitedTooLong(int limit, int maxWaiting, TimeSpan within) => new(
        $"When its turn came at the concurrency limit of {limit}, this call could not have ended within {within} any more.", limit, maxWaiting);

    /// <summary>A call whose time was up before its turn came.</summary>
    internal static ConcurrencyLimitRejectedException NoTurn(int limit, int maxWaiting, TimeSpan within) => new(
        $"This call waited at the concurrency limit of {limit} for {within}, in which it had to end, and its turn has not come.", limit, maxWaiting);

    /// <summary>The limit when the call was rejected.</summary>
    public int Limit { get; }

    /// <summary>How many calls may wait.</summary>
    public int MaxWaiting { get; }
}

/// <summary>
/// What the option <c>ConcurrencyLimit</c> of a run or a chain takes: a <see cref="SharedConcurrencyLimit"/>, which other runs, chains and calls may share, or
/// one for each key from <c>ByKey</c> of <see cref="ConcurrencyLimits"/>. Any other type is refused.
/// </summary>
[SuppressMessage("Design", "CA1040:Avoid empty interfaces", Justification = "It says what an option takes; a base class would give its types no member.")]
public interface IConcurrencyLimitSetting;

/// <summary>A limit for calls of one priority, or with one deadline.</summary>
internal interface ILimitShare : ICallShare
{
    SharedConcurrencyLimit Limit { get; }
}

/// <summary>The calls that use a limit, or that of their key.</summary>
internal interface ICallShare : IConcurrencyLimitSetting
{
    CallPriority Priority { get; }

    TimeSpan? Within { get; }
}

/// <summary>What a call's exception says about the called service, for all that measure it.</summary>
internal static class ServiceFailure
{
    /// <summary>Whether an exception is a failure of the called service. Not for what the caller has cancelled, which says nothing.</summary>
    /// <param name="exception">The exception of the call.</param>
    /// <param name="isFailure">The user's function, or null: every exception is a failure, but for a cancellation that is no timeout and for what a limit inside
    /// the call refused, in this process, because then the service was not asked.</param>
    /// <returns>Null if it says nothing about the service.</returns>
    public static bool? Of(Exception exception, Func<Exception, bool>? isFailure) =>
        isFailure is not null ? isFailure(exception)
        : (exception is OperationCanceledException && !TimeoutFailure.Is(exception)) || exception is ConcurrencyLimitRejectedException or RateLimitRejectedException
            ? null
            : true;
}

using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Threading.Tasks.Sources;

namespace Weir.Resilience;

/// <summary>Ends calls at a time limit, even calls that ignore their token.</summary>
/// <remarks>
/// <para>
/// At the limit, the call's token is cancelled, and the caller gets a <see cref="TimeoutFailure"/> at once. The caller does not wait for the call, whose later
/// result or exception is discarded; a result that is disposable is disposed of, unless it is the state that the call was given. So a call that reacts to its
/// token may still be ending while the caller continues. A call that blocks its thread before it returns its task cannot be abandoned; if it returns a result
/// after all, the result counts.
/// </para>
/// <para>
/// All members are thread-safe, for any number of calls at once. A call that ends in time allocates nothing, because its objects are reused for later calls.
/// The timer is set once per length of the limit, not once per call. For the same reason, a call must not keep its token after it has ended.
/// </para>
/// </remarks>
/// <typeparam name="TResult">The type of the calls' results.</typeparam>
public sealed class TimeoutPolicy<TResult> : ICallsWithLimits
{
    // Beyond this many simultaneous calls, the rest is left to the garbage collector.
    private const int MaxIdle = 1024;

    private readonly Lock? _lock;
    private readonly HashSet<TimeoutScope<TResult>>? _open;
    private readonly Action<IThreadPoolWorkItem>? _queue;
    private TimeoutScope<TResult>? _next;

    // Created when a second call at a time has ended.
    private IdleScopes? _idle;
    private bool _closed;

    /// <summary>Creates a policy from the options.</summary>
    /// <param name="options">The limit; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public TimeoutPolicy(TimeoutOptions? options = null)
    {
        options ??= new TimeoutOptions();
        options.Validate();
        Limit = options.Timeout;
        HasLimit = Require.NoneIfInfinite(Limit) is not null;
        Clock = new Clock(options.TimeProvider);
        LimitTicks = Clock.ToTicks(Limit);
    }

    /// <summary>Creates a policy of a run, which knows its timers, so that the run can end them when it ends.</summary>
    /// <param name="limit">The limit, which has been checked.</param>
    /// <param name="time">The clock.</param>
    /// <param name="queue">Runs the work that follows the end of a call, on a thread that has time for it.</param>
    /// <param name="attempt">See <see cref="Attempt"/>.</param>
    internal TimeoutPolicy(TimeSpan limit, TimeProvider time, Action<IThreadPoolWorkItem> queue, int? attempt = null)
    {
        Attempt = attempt;
        Clock = new Clock(time);
        _queue = queue;
        Limit = limit;
        HasLimit = true;
        LimitTicks = Clock.ToTicks(limit);
        _lock = new Lock();
        _open = [];
    }

    /// <summary>
    /// The number of the attempt that each call is; 0 if the caller that counts attempts adds it; null if the limit is that of a whole call. Set before the
    /// first call.
    /// </summary>
    internal int? Attempt { get; init; }

    /// <summary>Whose limit it is, so that a run knows its own in an exception. Not the policy itself, which an exception must not keep alive.</summary>
    internal object? LimitOf { get; init; }

    internal bool HasLimit { get; }

    internal TimeSpan Limit { get; }

    internal long LimitTicks { get; }

    internal Clock Clock { get; }

    /// <summary>Makes a call, and ends it at the limit.</summary>
    /// <typeparam name="TState">The type of the state. The call gets a state so that it needs no closure.</typeparam>
    /// <param name="call">The call. Its token is cancelled at the limit and by the caller, and is valid until the call ends.</param>
    /// <param name="state">The state passed to the call.</param>
    /// <param name="cancellationToken">The caller's token. It is forwarded to the call, which then ends by itself or at the limit.</param>
    /// <returns>The result of the call. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException">
    /// The limit passed, and the inner exception is a <see cref="TimeoutException"/>; or the caller cancelled, and the exception carries the caller's token.
    /// </exception>
    public ValueTask<TResult> ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        return ExecuteAsync(call, state, CallShape.GivenOf(state), cancellationToken);
    }

    /// <summary>Makes a call in its time limit whose state says what it was given: see <see cref="TimeoutScope{TResult}.Watch"/>.</summary>
    internal ValueTask<TResult> ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, object? given, CancellationToken cancellationToken) =>
        ExecuteAsync(new StateCall<TState>(call, state), given, cancellationToken);

    /// <summary>Makes a call in its time limit that wants to know when its time is up.</summary>
    internal ValueTask<TResult> ExecuteAsync<TCall>(TCall call, object? given, CancellationToken cancellationToken)
        where TCall : struct, ITimedCall<TResult>
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<TResult>(cancellationToken);
        }

        if (!HasLimit)
        {
            return CallWithoutLimit(call, cancellationToken);
        }

        TimeoutScope<TResult> scope = Rent();
        TResult result;
        try
        {
            CancellationToken token = scope.Begin(cancellationToken);
            ValueTask<TResult> pending;
            try
            {
                pending = call.Make(new Deadline(Clock, scope.Deadline), token);
            }
            catch (Exception exception)
            {
                pending = ValueTask.FromException<TResult>(exception);
            }

            if (!pending.IsCompletedSuccessfully)
            {
                return scope.Watch(pending, given);
            }

            result = pending.Result;
        }
        catch (Exception exception)
        {
            // The clock failed, or somebody has awaited the call's task before.
            scope.Abandon();
            return ValueTask.FromException<TResult>(exception);
        }

        scope.EndAtOnce();
        return new ValueTask<TResult>(result);
    }

    private static ValueTask<TResult> CallWithoutLimit<TCall>(TCall call, CancellationToken cancellationToken)
        where TCall : struct, ITimedCall<TResult>
    {
        try
        {
            return call.Make(default, cancellationToken);
        }
        catch (Exception exception)
        {
            return ValueTask.FromException<TResult>(exception);
        }
    }

    /// <summary>
    /// Whether each call gets its own token, because it may keep it. Calls outside a run share a token, one after the other, and so need no allocation.
    /// </summary>
    internal bool GivesOwnTokens => _queue is not null;

    /// <summary>Continues, on another thread, a caller whose call was ended. The caller must not work on the timer's thread.</summary>
    internal void Queue(TimeoutScope<TResult> scope)
    {
        if (_queue is null)
        {
            ThreadPool.UnsafeQueueUserWorkItem(scope, preferLocal: false);
        }
        else
        {
            _queue(scope);
        }
    }

    /// <summary>Ends all timers, including those of abandoned calls that never end. Nothing waits for a call of this policy any more.</summary>
    internal void Close()
    {
        if (_open is null)
        {
            return;
        }

        lock (_lock!)
        {
            _closed = true;
            foreach (TimeoutScope<TResult> scope in _open)
            {
                scope.EndTimer();
            }

            _open.Clear();
        }
    }

    void ICallsWithLimits.CancelCallsOf(CancellationToken callerToken)
    {
        if (_open is null)
        {
            return;
        }

        lock (_lock!)
        {
            foreach (TimeoutScope<TResult> scope in _open)
            {
                scope.CancelIfOf(callerToken);
            }
        }
    }

    /// <summary>Drops a scope that is not reused.</summary>
    internal void Forget(TimeoutScope<TResult> scope)
    {
        scope.EndTimer();
        if (_open is not null)
        {
            lock (_lock!)
            {
                _open.Remove(scope);
            }
        }
    }

    internal void Return(TimeoutScope<TResult> scope)
    {
        // One slot besides the queue: consecutive calls need nothing more. Both sides exchange it, because two calls with the same scope would end each other.
        TimeoutScope<TResult>? previous = Interlocked.Exchange(ref _next, scope);
        if (previous is null)
        {
            return;
        }

        ConcurrentQueue<TimeoutScope<TResult>> idle = LazyInitializer.EnsureInitialized(ref _idle).Queue;
        if (idle.Count < MaxIdle)
        {
            idle.Enqueue(previous);
        }
        else
        {
            Forget(previous);
        }
    }

    /// <summary>A scope for the next call.</summary>
    internal TimeoutScope<TResult> Rent() =>
        Interlocked.Exchange(ref _next, null)
        ?? (Volatile.Read(ref _idle) is { } idle && idle.Queue.TryDequeue(out TimeoutScope<TResult>? scope) ? scope : Create());

    private TimeoutScope<TResult> Create()
    {
        TimeoutScope<TResult> scope = new(this);
        if (_open is not null)
        {
            lock (_lock!)
            {
                if (_closed)
                {
                    // An abandoned call starts after the end of its run. Nobody waits for it, so nobody needs its limit.
                    scope.EndTimer();
                }
                else
                {
                    _open.Add(scope);
                }
            }
        }

        return scope;
    }

    private readonly struct StateCall<TState>(Func<TState, CancellationToken, ValueTask<TResult>> call, TState state) : ITimedCall<TResult>
    {
        public ValueTask<TResult> Make(Deadline deadline, CancellationToken token) => call(state, token);
    }

    /// <summary>A class of its own. Otherwise the assembly of the queue would be loaded with the policy, and a first call needs no queue.</summary>
    private sealed class IdleScopes
    {
        public readonly ConcurrentQueue<TimeoutScope<TResult>> Queue = new();
    }
}

/// <summary>A call in a time limit, which is told when its time is up.</summary>
internal interface ITimedCall<TResult>
{
    ValueTask<TResult> Make(Deadline deadline, CancellationToken token);
}

/// <summary>
/// One awaited call with a time limit: its token, its timer, and the race between its end and its limit. Reused for call after call, unless it was given up.
/// </summary>
[SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "The source has no timer and no wait handle, and a call left behind may still look at its token.")]
internal sealed class TimeoutScope<TResult> : IValueTaskSource<TResult>, IThreadPoolWorkItem, IUnattended
{
    // The word is the number of the call, times 4, plus its phase. Begin alone makes it Running. From there, the end of the call (Idle), the timer (TimedOut)
    // or a failure of either watch (Failed) moves it, by a compare-and-swap, and the one that succeeds decides the outcome. It compares the number too, so a
    // timer that looks at an older call cannot affect a newer one. The timer reads the word before the deadline, and Begin writes the deadline before the
    // word: a timer that sees a call as running never takes the deadline of the call before it.
    private const long Idle = 0;
    private const long Running = 1;
    private const long TimedOut = 2;
    private const long Failed = 3;
    private const long PhaseMask = 3;
    private const long NextCall = 4;

    private readonly TimeoutPolicy<TResult> _policy;
    private readonly ITimer _timer;
    private readonly Action _onCallEnded;
    private CancellationTokenSource _source = new();
    private ManualResetValueTaskSourceCore<TResult> _core;
    private ConfiguredValueTaskAwaitable<TResult>.ConfiguredValueTaskAwaiter _call;
    private CancellationToken _callerToken;
    private CancellationTokenRegistration _callerLink;
    private long _deadline;
    private long _word;
    private int _armed;
    private object? _given;
    private bool _reusable;

    // What the scope's own timer or the caller's token threw.
    private Exception? _failure;

    public TimeoutScope(TimeoutPolicy<TResult> policy)
    {
        _policy = policy;
        _onCallEnded = OnCallEnded;
        bool flows = !ExecutionContext.IsFlowSuppressed();
        AsyncFlowControl flow = flows ? ExecutionContext.SuppressFlow() : default;
        try
        {
            // A timer that serves many callers must not keep the first one's context.
            _timer = policy.Clock.Provider.CreateTimer(
                static state => Unattended.Run((TimeoutScope<TResult>)state!, static scope => scope.OnTimer()),
                this,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan);
        }
        finally
        {
            if (flows)
            {
                flow.Undo();
            }
        }
    }

    /// <summary>Whether the call's time limit passed before it ended. Then nobody uses the scope again.</summary>
    private bool HasTimedOut => (Volatile.Read(ref _word) & PhaseMask) == TimedOut;

    /// <summary>When the time of the call is up, from <see cref="Begin"/> on.</summary>
    public long Deadline => _deadline;

    /// <summary>Starts the time of a call, and returns its token.</summary>
    public CancellationToken Begin(CancellationToken callerToken)
    {
        _callerToken = callerToken;
        if (callerToken.CanBeCanceled)
        {
            _callerLink = callerToken.UnsafeRegister(
                static state => Unattended.Run((TimeoutScope<TResult>)state!, static scope => scope.Cancel()),
                this);
        }

        Volatile.Write(ref _deadline, _policy.Clock.Now + _policy.LimitTicks);

        // A full fence between marking the call as running and checking whether the timer runs. The timer does the same the other way round, so at least one of
        // the two sees the other, and sets the timer.
        Interlocked.Exchange(ref _word, (_word & ~PhaseMask) + NextCall + Running);
        if (Volatile.Read(ref _armed) == 0 && Interlocked.CompareExchange(ref _armed, 1, 0) == 0)
        {
            SetTimer(_policy.Limit);
        }

        return _source.Token;
    }

    public void EndTimer() => _timer.Dispose();

    /// <summary>
    /// Cancels the call that was made with a caller's token. The callbacks run elsewhere. Only for scopes that give each call a source of its own: the source
    /// is read first, and one that is read too late for its call belongs to no other, because a new one comes after the old caller's token has gone.
    /// </summary>
    public void CancelIfOf(CancellationToken callerToken)
    {
        CancellationTokenSource source = Volatile.Read(ref _source);
        if (_callerToken == callerToken)
        {
            Cancel(source);
        }
    }

    /// <summary>Ends a call that ended before anybody had to wait for it. Its result counts even if its time was up before.</summary>
    public void EndAtOnce()
    {
        if (TryDecide(Volatile.Read(ref _word), Idle) && Unlink())
        {
            Reuse();
        }
        else
        {
            // The timer may still be cancelling, so the scope is not reused.
            _callerLink.Unregister();
            _policy.Forget(this);
        }
    }

    /// <summary>Ends a call that could not be begun or watched. It leaves no timer, and no registration with the caller's token.</summary>
    public void Abandon()
    {
        TryDecide(Volatile.Read(ref _word), Idle);
        _callerLink.Unregister();
        _policy.Forget(this);
    }

    /// <summary>Returns what the caller awaits: the end of the call or the limit, whichever comes first.</summary>
    /// <param name="call">The call.</param>
    /// <param name="given">What it was given, such as its item, which is not disposed of if the call returns it late.</param>
    public ValueTask<TResult> Watch(ValueTask<TResult> call, object? given)
    {
        _given = given;
        // The call may end on another thread, and this scope may serve the next call, before the awaiter returns.
        short version = _core.Version;
        ConfiguredValueTaskAwaitable<TResult>.ConfiguredValueTaskAwaiter awaiter = call.ConfigureAwait(false).GetAwaiter();
        _call = awaiter;
        if (awaiter.IsCompleted)
        {
            OnCallEnded();
        }
        else
        {
            awaiter.UnsafeOnCompleted(_onCallEnded);
        }

        return new ValueTask<TResult>(this, version);
    }

    void IThreadPoolWorkItem.Execute() =>
        Unattended.Run(this, static scope => scope._core.SetException(scope.EarlyEnd()), static (scope, error) => scope._core.SetException(error));

    // Why the caller no longer waits.
    private Exception EarlyEnd() =>
        _failure is not null ? _failure
        : _policy.Attempt is { } attempt ? TimeoutFailure.OfAttempt(_policy.Limit, attempt, _policy.LimitOf) : TimeoutFailure.OfCall(_policy.Limit);

    TResult IValueTaskSource<TResult>.GetResult(short token)
    {
        // A wrong token throws before anything is returned to the policy.
        bool reuse = _core.GetStatus(token) != ValueTaskSourceStatus.Pending && _reusable;
        try
        {
            return _core.GetResult(token);
        }
        finally
        {
            if (reuse)
            {
                Reuse();
            }
        }
    }

    ValueTaskSourceStatus IValueTaskSource<TResult>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<TResult>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    private bool TryDecide(long word, long phase) =>
        (word & PhaseMask) == Running && Interlocked.CompareExchange(ref _word, (word & ~PhaseMask) | phase, word) == word;

    private void OnCallEnded()
    {
        bool inTime = TryDecide(Volatile.Read(ref _word), Idle);
        TResult? result = default;
        Exception? error = null;
        try
        {
            // Even for a call that nobody waits for any more: an observed exception raises no event for unobserved ones.
            result = _call.GetResult();
        }
        catch (Exception exception)
        {
            error = exception;
        }

        _call = default;
        object? given = _given;
        _given = null;
        if (!inTime)
        {
            DiscardedResult.Drop(given, result);
            return;
        }

        _reusable = Unlink();
        if (!_reusable)
        {
            _policy.Forget(this);
        }

        if (error is null)
        {
            _core.SetResult(result!);
        }
        else
        {
            _core.SetException(ForCaller(error));
        }
    }

    // A call that ended because the caller cancelled reports the caller's token, not this scope's.
    private Exception ForCaller(Exception error) =>
        error is OperationCanceledException cancelled && _callerToken.IsCancellationRequested
            && cancelled.CancellationToken != _callerToken && !TimeoutFailure.Is(cancelled)
            ? new OperationCanceledException(cancelled.Message, cancelled, _callerToken)
            : error;

    private void OnTimer()
    {
        while (true)
        {
            long word = Volatile.Read(ref _word);
            long deadline = Volatile.Read(ref _deadline);
            if ((word & PhaseMask) == Running)
            {
                // One setting of the timer serves many short calls: it keeps running for whichever call is there when it fires.
                TimeSpan remaining = _policy.Clock.ToTimeSpan(deadline - _policy.Clock.Now);
                if (remaining > TimeSpan.Zero)
                {
                    SetTimer(remaining);
                    return;
                }

                if (TryDecide(word, TimedOut))
                {
                    EndEarly();
                    return;
                }
            }
            else
            {
                // The other side of the fence in Begin.
                Interlocked.Exchange(ref _armed, 0);
                if ((Volatile.Read(ref _word) & PhaseMask) != Running || Interlocked.CompareExchange(ref _armed, 1, 0) != 0)
                {
                    return;
                }
            }
        }
    }

    private void EndEarly()
    {
        try
        {
            _callerLink.Unregister();

            // The token first, so that a caller that continues knows that the old call is cancelled; its callbacks on the pool, so that none of them can delay
            // the caller.
            Cancel();
            _policy.Forget(this);
        }
        finally
        {
            // Runs even if there is no memory for the rest, because the caller waits for it.
            QueueEarlyEnd();
        }
    }

    private void QueueEarlyEnd()
    {
        try
        {
            _policy.Queue(this);
        }
        catch (Exception)
        {
            // Better on this thread than not at all.
            ((IThreadPoolWorkItem)this).Execute();
        }
    }

    /// <summary>The timer or the forwarding of the caller's token failed: the caller stops waiting and gets the error.</summary>
    void IUnattended.WorkFailed(Exception error)
    {
        _failure = error;
        if (TryDecide(Volatile.Read(ref _word), Failed))
        {
            EndEarly();
        }
    }

    // Exceptions of user callbacks do not change an outcome.
    private void Cancel() => Cancel(_source);

    private static void Cancel(CancellationTokenSource source) =>
        source.CancelAsync().ContinueWith(
            static callbacks => _ = callbacks.Exception,
            CancellationToken.None,
            TaskContinuationOptions.OnlyOnFaulted | TaskContinuationOptions.ExecuteSynchronously,
            TaskScheduler.Default);

    // Whether the caller's token can no longer reach this scope.
    private bool Unlink() => (!_callerToken.CanBeCanceled || _callerLink.Unregister()) && !_source.IsCancellationRequested;

    private void Reuse()
    {
        if (_policy.GivesOwnTokens)
        {
            _callerToken = default;
            Volatile.Write(ref _source, new CancellationTokenSource());
        }
        else if (!_source.TryReset())
        {
            // Otherwise it has dropped the registrations that the call left behind.
            _policy.Forget(this);
            return;
        }

        _reusable = false;
        _callerToken = default;
        _callerLink = default;
        _core.Reset();
        _policy.Return(this);
    }

    private void SetTimer(TimeSpan due) => _timer.Change(TimerDelay.RoundUp(due), Timeout.InfiniteTimeSpan);
}

/// <summary>
/// Reports that a call timed out: an <see cref="OperationCanceledException"/> whose inner exception is a <see cref="TimeoutException"/>, as with
/// <c>HttpClient</c>.
/// </summary>
public static class TimeoutFailure
{
    /// <summary>Whether an exception means that a time limit passed, rather than that a call was cancelled.</summary>
    /// <param name="exception">A call's exception.</param>
    /// <returns>
    /// <see langword="true"/> for a <see cref="TimeoutException"/>, and for an <see cref="OperationCanceledException"/> with one as its inner exception.
    /// </returns>
    public static bool Is(Exception? exception) =>
        exception is TimeoutException or OperationCanceledException { InnerException: TimeoutException };

    /// <summary>A call passed its limit.</summary>
    internal static TaskCanceledException OfCall(TimeSpan limit)
    {
        CallTimeoutException reason = new(limit);
        return new TaskCanceledException(reason.Message, reason);
    }

    /// <summary>An attempt passed its limit.</summary>
    /// <param name="limit">The limit.</param>
    /// <param name="attempt">Its number; 0 if that is added later.</param>
    /// <param name="limitOf">Whose limit it is, if it is that of a run.</param>
    internal static TaskCanceledException OfAttempt(TimeSpan limit, int attempt, object? limitOf = null) =>
        new AttemptCanceledException(new AttemptTimeoutException(limit, attempt, limitOf));
}

/// <summary>The calls of a run under its limit of an attempt, for code that does not know the type of their results.</summary>
internal interface ICallsWithLimits
{
    /// <summary>
    /// Cancels the tokens of the calls that were made with a caller's token, which is cancelled. They are cancelled by it in any case, but on another thread,
    /// which may be late.
    /// </summary>
    void CancelCallsOf(CancellationToken callerToken);
}

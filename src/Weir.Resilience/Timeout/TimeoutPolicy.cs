using System.Collections.Concurrent;

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

    /// <summary>The same for a call whose state says what it was given: see <see cref="TimeoutScope{TResult}.Watch"/>.</summary>
    internal ValueTask<TResult> ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, object? given, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<TResult>(cancellationToken);
        }

        if (!HasLimit)
        {
            return CallWithoutLimit(call, state, cancellationToken);
        }

        TimeoutScope<TResult> scope = Rent();
        TResult result;
        try
        {
            CancellationToken token = scope.Begin(cancellationToken);
            ValueTask<TResult> pending;
            try
            {
                pending = call(state, token);
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

    private static ValueTask<TResult> CallWithoutLimit<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken)
    {
        try
        {
            return call(state, cancellationToken);
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

    /// <summary>A class of its own. Otherwise the assembly of the queue would be loaded with the policy, and a first call needs no queue.</summary>
    private sealed class IdleScopes
    {
        public readonly ConcurrentQueue<TimeoutScope<TResult>> Queue = new();
    }
}

using System.Collections.Concurrent;

namespace Weir.Resilience;

/// <summary>Ends calls at a time limit, also those that ignore their token.</summary>
/// <remarks>
/// <para>
/// At the limit the token given to the call is cancelled, and the caller gets a <see cref="TimeoutFailure"/> at once: it does not wait
/// for the call, whose later result or exception is dropped. So a call that ends at its token may still be busy ending while the
/// caller goes on. A call that blocks its thread before it returns its task cannot be left behind; if it gives a result after all, that counts.
/// </para>
/// <para>
/// All members are safe for any number of threads and calls at once. A call that ends in time allocates nothing: what it needs is used again
/// for later calls. The timer is set once a limit's length and not once a call. For the same reason a call must not keep its token beyond its end.
/// </para>
/// </remarks>
/// <typeparam name="TResult">What the calls return.</typeparam>
public sealed class TimeoutPolicy<TResult>
{
    // Beyond this many calls at once the rest is left to the garbage collector.
    private const int MaxIdle = 1024;

    private readonly ConcurrentQueue<TimeoutScope<TResult>> _idle = new();
    private readonly HashSet<TimeoutScope<TResult>>? _open;
    private readonly Action<IThreadPoolWorkItem>? _queue;
    private readonly bool _hasLimit;
    private TimeoutScope<TResult>? _next;
    private bool _closed;

    /// <summary>Makes a policy of the options.</summary>
    /// <param name="options">The limit; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of its range; the parameter is named after the property.</exception>
    public TimeoutPolicy(TimeoutOptions? options = null)
        : this(options, queue: null)
    {
    }

    private TimeoutPolicy(TimeoutOptions? options, Action<IThreadPoolWorkItem>? queue)
    {
        options ??= new TimeoutOptions();
        options.Validate();
        Limit = options.Timeout;
        _hasLimit = Require.NoneIfInfinite(Limit) is not null;
        Clock = new Clock(options.TimeProvider);
        LimitTicks = Clock.ToTicks(Limit);
        _queue = queue;
        _open = queue is null ? null : [];
    }

    internal TimeSpan Limit { get; }

    internal long LimitTicks { get; }

    internal Clock Clock { get; }

    /// <summary>Makes a call, and ends it at the limit.</summary>
    /// <typeparam name="TState">What the call gets, so that it needs no closure.</typeparam>
    /// <param name="call">The call. Its token is cancelled at the limit and by the caller, and is valid until it ends.</param>
    /// <param name="state">What the call gets.</param>
    /// <param name="cancellationToken">The caller's token. It is forwarded to the call, which ends by itself then or at the limit.</param>
    /// <returns>The result of the call. To be awaited once, as any value task.</returns>
    /// <exception cref="OperationCanceledException">
    /// The limit was reached: the inner exception is a <see cref="TimeoutException"/>. Or the caller cancelled: it carries the caller's token.
    /// </exception>
    public ValueTask<TResult> ExecuteAsync<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        if (cancellationToken.IsCancellationRequested)
        {
            return ValueTask.FromCanceled<TResult>(cancellationToken);
        }

        if (!_hasLimit)
        {
            return CallWithoutLimit(call, state, cancellationToken);
        }

        TimeoutScope<TResult> scope = Rent();
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
            return scope.Watch(pending);
        }

        TResult result = pending.Result;
        scope.EndAtOnce();
        return new ValueTask<TResult>(result);
    }

    private static ValueTask<TResult> CallWithoutLimit<TState>(Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken)
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

    /// <summary>Makes a policy that knows its timers, so that a run can end them with itself.</summary>
    /// <param name="options">The limit.</param>
    /// <param name="queue">Runs what follows on a limit, on a thread that has the time for it.</param>
    internal static TimeoutPolicy<TResult> ForARun(TimeoutOptions options, Action<IThreadPoolWorkItem> queue) => new(options, queue);

    /// <summary>Whether each call gets a token of its own, because it may keep it. Calls outside a run share theirs, one after the other, and so need no allocation.</summary>
    internal bool GivesOwnTokens => _queue is not null;

    /// <summary>Goes on with a caller whose call was ended, elsewhere: the timer's thread is not the caller's to work on.</summary>
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

    /// <summary>Ends all timers, those of calls that were left behind and never end included. Nothing waits for a call of this policy any more.</summary>
    internal void Close()
    {
        lock (_open!)
        {
            _closed = true;
            foreach (TimeoutScope<TResult> scope in _open)
            {
                scope.EndTimer();
            }

            _open.Clear();
        }
    }

    /// <summary>Lets a scope go that is not used again.</summary>
    internal void Forget(TimeoutScope<TResult> scope)
    {
        scope.EndTimer();
        if (_open is not null)
        {
            lock (_open)
            {
                _open.Remove(scope);
            }
        }
    }

    internal void Return(TimeoutScope<TResult> scope)
    {
        // One place beside the queue: calls one after the other need nothing more.
        TimeoutScope<TResult>? previous = Interlocked.Exchange(ref _next, scope);
        if (previous is null)
        {
            return;
        }

        if (_idle.Count < MaxIdle)
        {
            _idle.Enqueue(previous);
        }
        else
        {
            Forget(previous);
        }
    }

    private TimeoutScope<TResult> Rent() =>
        Interlocked.Exchange(ref _next, null) ?? (_idle.TryDequeue(out TimeoutScope<TResult>? scope) ? scope : Create());

    private TimeoutScope<TResult> Create()
    {
        TimeoutScope<TResult> scope = new(this);
        if (_open is not null)
        {
            lock (_open)
            {
                if (_closed)
                {
                    // A call that was left behind begins after the end of its run: nobody waits for it, so nobody needs its limit.
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
}

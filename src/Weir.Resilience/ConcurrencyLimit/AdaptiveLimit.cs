using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Core.Dispatch;

namespace Weir.Resilience;

/// <summary>
/// A <see cref="SharedConcurrencyLimit"/> that finds its number itself: from how long the calls take and how many of them fail. For a service whose capacity
/// nobody knows, or that changes.
/// </summary>
/// <remarks>
/// <para>
/// It is one limit, with the permits and the queue of a <see cref="SharedConcurrencyLimit"/>, whose <see cref="SharedConcurrencyLimit.Limit"/> the law of
/// adaptive concurrency moves. All that shares the instance is measured together, so ten callers of one service find its capacity as one caller would. Pass it
/// wherever a shared limit is taken.
/// </para>
/// <para>
/// Calls of runs, chains and <c>ExecuteAsync</c> are measured, from the moment at which they begin: no wait counts. A permit that is taken by hand, with
/// <see cref="SharedConcurrencyLimit.TryEnter()"/> or <see cref="SharedConcurrencyLimit.EnterAsync"/>, counts as a call in flight but is not measured,
/// because nobody says how its call ended. A limit without measured calls stays where it started.
/// </para>
/// <para>All members are thread-safe. A call allocates no more than with a limit that does not move. Each limit has some 6 KB for its measurements.</para>
/// </remarks>
[DebuggerDisplay("{InUse} of {Limit} in use, {Waiting} wait")]
public sealed class AdaptiveLimit : SharedConcurrencyLimit
{
    private readonly AdaptiveController _controller;

    /// <summary>Creates the limit.</summary>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range. The exception names the property.</exception>
    public AdaptiveLimit(AdaptiveLimitOptions? options = null)
        : this(options ?? new AdaptiveLimitOptions(), isCounted: true)
    {
    }

    /// <summary>Creates a limit that meters count by itself, or with those of the other keys.</summary>
    internal AdaptiveLimit(AdaptiveLimitOptions options, bool isCounted)
        : this(options, ControllerOf(options))
    {
        _controller.Attach(SetLimit);
        if (isCounted)
        {
            PolicyRegistry.Add(this);
        }
    }

    private AdaptiveLimit(AdaptiveLimitOptions options, AdaptiveController controller)
        : base(controller.Limit, options.MaxWaiting, options.Name, controller, options.NewestFirst, options.IsFailure) => _controller = controller;

    /// <summary>The same limit for calls of another priority, or for calls that have a deadline.</summary>
    /// <param name="priority">Which calls get a permit first, and which are refused first when the queue is full.</param>
    /// <param name="within">
    /// In what time each call has to end, from when it comes: one that would end later, because of the calls that wait, is refused at once, and a call that still
    /// waits when its time is up is refused then. A call that its caller cancels when most of this time has passed is a failure; otherwise, a cancelled call says
    /// nothing. <see langword="null"/> for any time.
    /// </param>
    /// <returns>What a chain or a run takes as its <c>ConcurrencyLimit</c>, or makes calls itself. Make it once and keep it.</returns>
    /// <exception cref="ArgumentOutOfRangeException">
    /// <paramref name="priority"/> is not defined, or <paramref name="within"/> is not more than zero or longer than 49 days.
    /// </exception>
    public LimitShare With(CallPriority priority = CallPriority.Normal, TimeSpan? within = null)
    {
        ValidateShare(priority, within);
        return new LimitShare(this, priority, within);
    }

    /// <summary>Checks what a share of a limit is to be.</summary>
    internal static void ValidateShare(CallPriority priority, TimeSpan? within)
    {
        if (priority is < CallPriority.Critical or > CallPriority.Background)
        {
            throw Require.Undefined(priority, nameof(priority), "Critical, Normal or Background");
        }

        Require.Timeout(within, nameof(within));
    }

    /// <summary>What the limit is doing now.</summary>
    /// <returns>A copy.</returns>
    public AdaptiveLimitSnapshot GetSnapshot()
    {
        (int limit, int inUse, int waiting) = Read();
        TimeSpan latency = _controller.MeanLatency;
        return new AdaptiveLimitSnapshot
        {
            Limit = limit,
            InUse = inUse,
            Waiting = waiting,
            Latency = latency > TimeSpan.Zero ? latency : null,
        };
    }

    private static AdaptiveController ControllerOf(AdaptiveLimitOptions options)
    {
        options.Validate();
        return new AdaptiveController(options.Adaptive.SettingsWith(options.TimeProvider));
    }
}

/// <summary>What an <see cref="AdaptiveLimit"/> is doing at one moment.</summary>
public readonly record struct AdaptiveLimitSnapshot
{
    /// <summary>How many calls may be in flight.</summary>
    public int Limit { get; init; }

    /// <summary>How many permits are in use. More than <see cref="Limit"/> for a while after it has fallen.</summary>
    public int InUse { get; init; }

    /// <summary>How many calls wait for a permit.</summary>
    public int Waiting { get; init; }

    /// <summary>The mean time of the calls that succeeded in the last window that was reviewed; <see langword="null"/> while there is none.</summary>
    public TimeSpan? Latency { get; init; }
}

/// <summary>The options of an <see cref="AdaptiveLimit"/>. Immutable: a <c>with</c> expression makes a changed copy.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
public sealed record AdaptiveLimitOptions
{
    /// <summary>How the limit moves, its bounds, and who is told of a change.</summary>
    /// <value>The default has bounds of 1 and 200, and starts at 32.</value>
    public AdaptiveConcurrencyOptions Adaptive { get; init; } = new();

    /// <summary>How many calls may wait for a permit at once; one more is rejected with a <see cref="ConcurrencyLimitRejectedException"/>.</summary>
    /// <value>0 or more; <see langword="null"/>, the default, for that of <see cref="SharedConcurrencyLimit.MaxWaiting"/>.</value>
    public int? MaxWaiting { get; init; }

    /// <summary>
    /// Whether calls that come while the queue is longer than the limit go before the others of their priority, and the oldest of the lowest priority is refused
    /// when it is full. Under overload, the callers of the oldest calls are the first to give up.
    /// </summary>
    /// <value><see langword="false"/>, the default: first come, first served.</value>
    public bool NewestFirst { get; init; }

    /// <summary>
    /// Whether an exception counts as a failure of the called service, as <see cref="CircuitBreakerOptions.IsFailure"/> says it for a circuit breaker: give both
    /// the same function. An exception that does not counts as a success, because the service responded.
    /// </summary>
    /// <value>
    /// <see langword="null"/>, the default, for every exception except two kinds, which are not measured: an <see cref="OperationCanceledException"/> that is not
    /// a timeout (see <see cref="TimeoutFailure"/>), and what a limit inside the call refused.
    /// </value>
    /// <remarks>Never called for the caller's own cancellation, which is not measured. If it throws, the call counts as failed.</remarks>
    public Func<Exception, bool>? IsFailure { get; init; }

    /// <summary>What metrics call it: see <see cref="SharedConcurrencyLimit.Name"/>.</summary>
    /// <value><see langword="null"/>, the default, for no name.</value>
    public string? Name { get; init; }

    /// <summary>The clock that measures the calls. A call for which it throws is not measured.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentNullException.ThrowIfNull(Adaptive, nameof(Adaptive));
        Adaptive.Validate();
        Require.AtLeast(0, MaxWaiting ?? 0, nameof(MaxWaiting));
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
    }
}

/// <summary>An <see cref="AdaptiveLimit"/> for calls of one priority, or with one deadline. From <see cref="AdaptiveLimit.With"/>.</summary>
/// <remarks>All members are thread-safe. It has no state of its own: the permits and the queue are those of the limit.</remarks>
public sealed class LimitShare : ICallPolicy, ILimitShare
{
    private readonly PermitUser _user;

    internal LimitShare(AdaptiveLimit limit, CallPriority priority, TimeSpan? within)
    {
        Limit = limit;
        Priority = priority;
        Within = within;
        _user = PermitUser.Of(this, null, null)!;
    }

    /// <summary>The limit, which others share.</summary>
    public AdaptiveLimit Limit { get; }

    SharedConcurrencyLimit ILimitShare.Limit => Limit;

    /// <summary>The priority of the calls.</summary>
    public CallPriority Priority { get; }

    /// <summary>In what time each call has to end; <see langword="null"/> for any.</summary>
    public TimeSpan? Within { get; }

    /// <summary>Makes a call without a result when a permit is free, and returns the permit when the call has ended, in whatever way.</summary>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="cancellationToken">Ends the wait for a permit, and is passed to the call.</param>
    /// <returns>A task that completes when the call has ended. Await it only once, like any value task.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled while the call waited for a permit.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait, or the call would end too late.</exception>
    public ValueTask ExecuteAsync(Func<CancellationToken, ValueTask> call, CancellationToken cancellationToken = default) =>
        CallShape.Ended(ExecuteAsync(static (call, token) => CallShape.Of(call(token)), CallShape.Of(call), cancellationToken));

    /// <inheritdoc cref="ExecuteAsync(Func{CancellationToken, ValueTask}, CancellationToken)"/>
    /// <typeparam name="TState">The type of the state.</typeparam>
    /// <param name="call">The call. It gets the caller's token.</param>
    /// <param name="state">The state passed to the call, so that it needs no closure.</param>
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
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait, or the call would end too late.</exception>
    public ValueTask<TResult> ExecuteAsync<TResult>(Func<CancellationToken, ValueTask<TResult>> call, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(call);
        return ExecuteAsync(static (call, token) => call(token), call, cancellationToken);
    }

    /// <summary>Makes a call when a permit is free, and returns the permit when the call has ended, in whatever way.</summary>
    /// <inheritdoc/>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait, or the call would end too late.</exception>
    public ValueTask<TResult> ExecuteAsync<TState, TResult>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken cancellationToken = default) =>
        Limit.ExecuteAsync(_user, call, state, cancellationToken);
}

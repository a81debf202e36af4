using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace Weir.Resilience;

/// <summary>
/// The one order of an attempt: the circuit breaker, the concurrency limit, the rate limit, the breaker once more if a wait took its time, the call, and what
/// the breaker is told of its end. Single calls (<see cref="PolicyChain{TResult}"/>) and the items of runs go through the same one, synchronously as far as
/// they get.
/// </summary>
/// <remarks>
/// <para>
/// What an attempt holds. The ticket of the circuit breaker: from its admission until the report of its end; it is given back unused
/// (<see cref="Ignored"/>) while the attempt waits for a permit, since a probe that waits must not keep others from probing, and wherever nothing was called.
/// The permit of the concurrency limit: from the moment it is served until the call has ended; it is given back while the attempt waits for the circuit. The
/// tokens of the rate limit are taken at the start and never given back. The lease of another rate limiter: from the end of its wait until the call has ended.
/// </para>
/// <para>
/// Who gives it back. <see cref="TryEnter"/> and <see cref="EnterAsync"/> do when they throw, <see cref="PassRateLimit"/> when the attempt has to enter anew;
/// after them, the caller calls <see cref="End"/> exactly once, whatever has happened. A permit whose call may never end goes back earlier: at the time limit
/// of a chain (<see cref="TimedPermit"/>), and when an item of a run is given up (<c>RunPermits</c>); it is returned once all the same.
/// </para>
/// <para>
/// Who waits where. A single call waits here. An item of a run waits in the engine, without a worker: for an open circuit, until its time is up or it changes;
/// for a permit, until it has it; for the tokens of its key, until they should be there (<see cref="ItemRateWaiter"/>): it takes them when it starts, and only
/// what was taken decides who may start. Only at a rate limit for the whole run does it wait with its worker. <c>PolicyCall</c> is an item's way through here,
/// and <c>RunRecovery</c> decides what follows a failed attempt.
/// </para>
/// <para>The guard itself never changes, and has no lock. An attempt belongs to one call at a time.</para>
/// </remarks>
/// <param name="breaker">The circuit breaker, or null.</param>
/// <param name="permits">The concurrency limit, as this user of it, or null.</param>
/// <param name="rateLimit">The rate limit, or null.</param>
/// <param name="waitsForCircuit">Whether an attempt waits here for an open circuit. A run lets its items wait elsewhere, where they hold no worker.</param>
/// <param name="waitsForTokens">Whether an attempt waits here for the tokens of a bucket. If not, the bucket is used by nobody who waits here.</param>
/// <param name="keys">The policies by key among these, if the guard is that of one attempt, which ends their use.</param>
internal sealed class AttemptGuard(
    CircuitBreaker? breaker, PermitUser? permits, IRateLimit? rateLimit, bool waitsForCircuit, bool waitsForTokens = true, KeyedUse keys = default)
{
    // Immutable, as the parameters are.
    private readonly TokenBucket? _bucket = rateLimit as TokenBucket;

    // Only without a concurrency limit, because its permit comes before the tokens.
    private readonly TokenBucket? _onlyBucket = permits is null ? rateLimit as TokenBucket : null;
    private readonly bool _onlyBreaker = permits is null && rateLimit is null;

    public CircuitBreaker? Breaker => breaker;

    /// <summary>The concurrency limit, as this user of it.</summary>
    public PermitUser? Permits => permits;

    /// <summary>The bucket for whose tokens an attempt waits elsewhere; null if there is none.</summary>
    public TokenBucket? BucketToWaitFor => waitsForTokens ? null : _bucket;

    /// <summary>Whether its policies by key are these.</summary>
    public bool Has(in KeyedUse use) =>
        (use.Breaker is null || use.Breaker.Policy == breaker)
            && (use.Limit is null || use.Limit.Policy == permits?.Limit)
            && (use.Rate is null || use.Rate.Policy == rateLimit)
            && (use.OtherRate is null || use.OtherRate.Equals(rateLimit));

    /// <summary>The retry budget of the item's key, on the guard of one attempt; null if there is none by key.</summary>
    public RetryBudget? Budget => keys.Budget?.Policy;

    /// <summary>Whether there is nothing to pass.</summary>
    public bool IsEmpty => breaker is null && _onlyBreaker;

    /// <summary>Whether an attempt that passes without waiting holds nothing that has to be given back.</summary>
    public bool HasNoLeases => _onlyBreaker || _onlyBucket is not null;

    /// <summary>
    /// Gets an attempt as far as it gets without waiting, and without anything to give back but the ticket and, from the rate limit on, the permit.
    /// </summary>
    /// <param name="ticket">The breaker's permission from the rate limit on; before that, there is none.</param>
    /// <returns>The next step. An attempt that is not at its call continues in <see cref="EnterAsync"/>, or ends with <see cref="Ignored"/>.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public AttemptPhase TryEnter(out CircuitTicket ticket)
    {
        ticket = default;
        return breaker is not null && !breaker.TryEnter(out ticket) ? AttemptPhase.Circuit
            : _onlyBucket is not null ? (_onlyBucket.TryEnter() ? AttemptPhase.Call : AttemptPhase.RateLimit)
            : _onlyBreaker ? AttemptPhase.Call : TryTakePermit(ref ticket);
    }

    /// <summary>Gets an attempt on that already has a permit, as far as it gets without waiting. It has the permit afterwards, whatever comes of it.</summary>
    public AttemptPhase TryEnterWithPermit(out CircuitTicket ticket)
    {
        ticket = default;
        return breaker is not null && !breaker.TryEnter(out ticket) ? AttemptPhase.Circuit : AfterPermit(ref ticket, hasPermit: true);
    }

    /// <summary>
    /// Asks the rate limit. One that throws is treated as one whose task failed. A call whose tokens would come after the end of its time does not wait for them.
    /// </summary>
    public ValueTask<IDisposable?> EnterRateLimit(CancellationToken token, Deadline deadline = default)
    {
        try
        {
            if (_bucket is not null && deadline.Left is { } left && _bucket.RetryAfter is var wait && wait > left)
            {
                PolicyListeners.Rejected(_bucket, PolicyListeners.AtRate, RejectionReason.Deadline);
                return ValueTask.FromException<IDisposable?>(new RateLimitRejectedException(wait, left));
            }

            return rateLimit is null ? default : rateLimit.EnterAsync(token);
        }
        catch (Exception exception)
        {
            return ValueTask.FromException<IDisposable?>(exception);
        }
    }

    /// <summary>
    /// Gets an attempt to the rate limit, where its <see cref="Attempt.Entry"/> is to be awaited at once, and then <see cref="PassRateLimit"/> to be called.
    /// What it holds is given back when that fails.
    /// </summary>
    /// <remarks>
    /// The caller awaits the entry, and not the guard: between the guard's end and the await of it, a thread may be held up. Then it would continue, late,
    /// instead of the thread that took the tokens.
    /// </remarks>
    /// <exception cref="CircuitBreakerOpenException">The circuit is open, and this guard does not wait for it.</exception>
    /// <exception cref="ConcurrencyLimitRejectedException">Too many calls already wait for a permit, or the attempt would end too late.</exception>
    /// <param name="token">Ends the waits.</param>
    /// <param name="deadline">When the time of the call is up.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Awaited once, by the caller.")]
    public async ValueTask<Attempt> EnterAsync(CancellationToken token, Deadline deadline = default)
    {
        Attempt attempt = default;
        try
        {
            while (true)
            {
                attempt.Ticket = await EnterCircuitAsync(deadline, token).ConfigureAwait(false);
                if (permits is null)
                {
                    break;
                }

                bool atOnce = permits.TryEnter();
                if (!atOnce)
                {
                    // A probe that waits for a permit must not keep others from probing, so it gives its ticket back.
                    Ignored(attempt.Ticket);
                    attempt.Ticket = default;
                    await permits.EnterAsync(token, deadline.Left).ConfigureAwait(false);
                }

                attempt.Permit = permits;
                if (atOnce || breaker is null || breaker.TryEnter(out attempt.Ticket))
                {
                    break;
                }

                // Others can use the permit while this attempt waits for the circuit.
                attempt.Release();
            }

            attempt.Entry = EnterRateLimit(token, deadline);
            attempt.Phase = AttemptPhase.RateLimit;
            return attempt;
        }
        catch
        {
            // Nothing was called, so nothing can be said about it.
            Ignored(attempt.Ticket);
            attempt.Release();
            throw;
        }
    }

    /// <summary>
    /// The rate limit let an attempt in: it is at its call now. Or it has to enter anew, if the circuit opened while it stood in the queue: its ticket is of
    /// an older generation. Then it holds nothing.
    /// </summary>
    /// <param name="attempt">The attempt.</param>
    /// <param name="waited">Whether it had to wait.</param>
    /// <param name="token">The token that the attempt was given.</param>
    /// <exception cref="OperationCanceledException">
    /// The attempt was cancelled: a wait may end just before it hears of it, and no attempt begins after the end.
    /// </exception>
    public void PassRateLimit(ref Attempt attempt, bool waited, CancellationToken token)
    {
        if (waited && breaker is not null && !breaker.IsCurrent(attempt.Ticket) && !breaker.TryEnter(out attempt.Ticket))
        {
            // The tokens were for a start at that moment. An attempt that waits for the circuit takes new ones when it may start.
            attempt.Release();
            attempt.Phase = AttemptPhase.Circuit;
            return;
        }

        token.ThrowIfCancellationRequested();
        if (waited)
        {
            // The wait was ours, and not the called service's.
            breaker?.Restart(ref attempt.Ticket);
        }

        attempt.Phase = AttemptPhase.Call;
    }

    /// <summary>Gives back what an attempt holds. If it has not come to its call, the breaker learns nothing from it.</summary>
    public void End(ref Attempt attempt)
    {
        if (attempt.Phase != AttemptPhase.Call)
        {
            Ignored(attempt.Ticket);
        }

        attempt.Release();
    }

    /// <summary>The call begins: all waits are over.</summary>
    /// <returns>What the concurrency limit learns when it ends; 0 for nothing.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long BeginCall() => permits is null ? 0 : permits.Limit.BeginCall();

    /// <summary>The call has succeeded, and its permit is still held.</summary>
    /// <param name="begun">What <see cref="BeginCall"/> returned.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void EndCall(long begun)
    {
        if (begun != 0)
        {
            permits!.Limit.CallSucceeded(begun);
        }
    }

    /// <summary>The call has failed, and its permit is still held.</summary>
    /// <param name="begun">What <see cref="BeginCall"/> returned.</param>
    /// <param name="error">Its exception.</param>
    /// <param name="token">The token that the attempt was given: the caller's, or one that a time limit around the attempt cancels too.</param>
    /// <param name="callerToken">The token of the caller or of the run.</param>
    public void EndCall(long begun, Exception error, CancellationToken token, CancellationToken callerToken)
    {
        if (begun != 0)
        {
            permits!.Limit.CallFailed(begun, error, token, callerToken);
        }
    }

    /// <summary>The attempt uses the policies of its keys no longer. Once, and only on the guard of one attempt.</summary>
    public void ReleaseKeys() => keys.Release();

    /// <summary>The call gave its result.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeeded(CircuitTicket ticket) => breaker?.Succeeded(ticket);

    /// <summary>The call failed. An exception of the breaker's own options takes the place of the failure.</summary>
    /// <param name="ticket">Its permission.</param>
    /// <param name="error">Its exception.</param>
    /// <param name="token">The token that the attempt was given: the caller's, or one that a time limit around the attempt cancels too.</param>
    /// <param name="callerToken">The token of the caller or of the run.</param>
    public void Failed(CircuitTicket ticket, Exception error, CancellationToken token, CancellationToken callerToken)
    {
        if (error is OperationCanceledException && token.IsCancellationRequested && !callerToken.IsCancellationRequested)
        {
            // A time limit has ended the call: what is called was too slow, though the exception does not say so.
            breaker?.Failed(ticket, error);
        }
        else
        {
            breaker?.Report(ticket, error, callerToken);
        }
    }

    /// <summary>The exception of an attempt that the circuit rejected.</summary>
    public CircuitBreakerOpenException CreateRejection() => breaker!.CreateRejection();

    /// <summary>Nothing was called.</summary>
    public void Ignored(CircuitTicket ticket) => breaker?.Ignored(ticket);

    private AttemptPhase TryTakePermit(ref CircuitTicket ticket)
    {
        if (permits is null || permits.TryEnter())
        {
            return AfterPermit(ref ticket, hasPermit: false);
        }

        Ignored(ticket);
        ticket = default;
        return AttemptPhase.ConcurrencyLimit;
    }

    private AttemptPhase AfterPermit(ref CircuitTicket ticket, bool hasPermit) =>
        rateLimit is null ? AttemptPhase.Call : _bucket is null ? AttemptPhase.RateLimit : TakeTokens(ref ticket, hasPermit);

    // The clock is the user's. When it throws, the attempt ends, and gives back what it took.
    private AttemptPhase TakeTokens(ref CircuitTicket ticket, bool hasPermit)
    {
        try
        {
            return _bucket!.TryEnter() ? AttemptPhase.Call : AttemptPhase.RateLimit;
        }
        catch
        {
            Ignored(ticket);
            ticket = default;
            if (!hasPermit)
            {
                permits?.Leave();
            }

            throw;
        }
    }

    private async ValueTask<CircuitTicket> EnterCircuitAsync(Deadline deadline, CancellationToken token)
    {
        CircuitTicket ticket = default;
        while (breaker is not null && !breaker.TryEnter(out ticket))
        {
            if (!waitsForCircuit)
            {
                throw CreateRejection();
            }

            // A half-open circuit may admit a call at any moment, and an isolated one when somebody closes it.
            if (breaker is { State: CircuitBreakerState.Open, IsIsolated: false } && deadline.Left is { } left && breaker.RetryAfter is var wait && wait > left)
            {
                PolicyListeners.Rejected(breaker, PolicyListeners.AtCircuit, RejectionReason.Deadline);
                throw breaker.CreateRejection(wait, left);
            }

            await breaker.WaitOnceAsync(token).ConfigureAwait(false);
        }

        return ticket;
    }
}

/// <summary>How far an attempt got on its way to the call, and what it holds. The default value is an attempt yet to begin, which holds nothing.</summary>
internal struct Attempt
{
    public AttemptPhase Phase;
    public CircuitTicket Ticket;

    /// <summary>The permit of the concurrency limit, from the phase of the rate limit on.</summary>
    public IPermit? Permit;

    /// <summary>The wait at the rate limit, in the phase of that name.</summary>
    public ValueTask<IDisposable?> Entry;

    /// <summary>What the rate limit wants back when the call has ended.</summary>
    public IDisposable? Lease;

    /// <summary>What <see cref="AttemptGuard.BeginCall"/> returned, from the call on.</summary>
    public long Begun;

    /// <summary>Gives back the lease and the permit.</summary>
    public void Release()
    {
        IDisposable? lease = Lease;
        IPermit? permit = Permit;
        Lease = null;
        Permit = null;
        try
        {
            lease?.Dispose();
        }
        finally
        {
            permit?.Leave();
        }
    }
}

/// <summary>The next step of an attempt.</summary>
internal enum AttemptPhase
{
    /// <summary>Admission by the circuit breaker.</summary>
    Circuit,

    /// <summary>A permit of the concurrency limit. The attempt holds nothing, and asks the circuit breaker again when it has the permit.</summary>
    ConcurrencyLimit,

    /// <summary>To be let in by the rate limit.</summary>
    RateLimit,

    /// <summary>The call.</summary>
    Call,
}

/// <summary>Reads the options of runs and chains that take one's own policy, a shared one, or one for each key.</summary>
internal static class PolicySettings
{
    /// <exception cref="ArgumentException">It is of a type that is none of ours.</exception>
    [StackTraceHidden]
    public static void Validate(IConcurrencyLimitSetting? setting)
    {
        if (setting is not (null or SharedConcurrencyLimit or LimitShare or ConcurrencyLimits))
        {
            throw Unknown(setting, "ConcurrencyLimit", "a SharedConcurrencyLimit, or those of ConcurrencyLimits.ByKey");
        }
    }

    /// <summary>The one circuit breaker: the shared one, or a new one with the clock of its run or chain unless it has another.</summary>
    /// <param name="setting">The option, which is valid.</param>
    /// <param name="clock">The clock of the run or chain.</param>
    /// <param name="isCounted">Whether meters show a new one by itself. If not, they show it with its run.</param>
    /// <returns>The circuit breaker; null if there is none, or one for each key.</returns>
    public static CircuitBreaker? BreakerOf(CircuitBreakerOptions? setting, TimeProvider clock, bool isCounted)
    {
        if (setting is not { IsShared: false } own)
        {
            return setting?.Instance as CircuitBreaker;
        }

        own = own.TimeProvider == TimeProvider.System ? own with { TimeProvider = clock } : own;
        return isCounted ? new CircuitBreaker(own) : new CircuitBreaker(own, group: null);
    }

    /// <summary>The one rate limit: the shared one, or a new one with the clock of its run or chain unless it has another.</summary>
    public static IRateLimit? RateLimitOf(RateLimitOptions? setting, TimeProvider clock, bool isCounted) => setting is { IsShared: false } own
        ? new TokenBucket(own.TimeProvider == TimeProvider.System ? own with { TimeProvider = clock } : own, isCounted)
        : setting?.Instance as IRateLimit;

    /// <summary>Options with the circuit breaker that was made from them, which several chains or runs then share.</summary>
    public static CircuitBreakerOptions? Made(CircuitBreakerOptions? setting, TimeProvider clock) =>
        setting is { IsShared: false } ? BreakerOf(setting, clock, isCounted: true) : setting;

    /// <summary>Options with the token bucket that was made from them, which several chains or runs then share.</summary>
    public static RateLimitOptions? Made(RateLimitOptions? setting, TimeProvider clock) =>
        setting is { IsShared: false } ? RateLimitOptions.Shared(RateLimitOf(setting, clock, isCounted: true)!) : setting;

    private static ArgumentException Unknown(object setting, string name, string types) =>
        new($"{name} must be {types}; it is of type {setting.GetType().Name}.", name);
}

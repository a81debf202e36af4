using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The user's selector inside the run's policies and hooks.</summary>
/// <remarks>
/// There is no state machine while an item waits for nothing but the selector itself. This is the path of every item of a run whose policies do not act.
/// </remarks>
internal readonly partial struct PolicyCall<TItem, TResult>(
    Func<TItem, CancellationToken, ValueTask<TResult>> selector,
    CallPolicies policies,
    TimeoutPolicy<TResult>? attemptTimeout,
    KeyedGuards<TItem>? keyed = null)
    : ICall<TItem, PolicyPending<TResult>>
{
    public bool UsesInvokeInto => true;

    public PolicyPending<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) =>
        policies.Records is { } records ? new(InvokeAllAsync(records.Begin(index, item), item, index, isFirst, cancellationToken))
        : !policies.HasHooks ? Attempt(item, index, null, cancellationToken)
        : policies.HasOnlyHooks ? new(InvokeHooked(item, index, isFirst, cancellationToken))
        : new(InvokeAllAsync(null, item, index, isFirst, cancellationToken));

    /// <summary>
    /// Makes the call, as far as it gets without waiting, inside only hooks or only a circuit breaker and our own rate limit. Other calls go elsewhere.
    /// </summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly",
        Justification = "Consumed once: here when it has completed, else where the attempt goes on.")]
    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        CallPolicies around = policies;
        if (!around.IsSimple || attemptTimeout is not null)
        {
            if (around.HasOnlyHooks)
            {
                ValueTask<TResult> hooked = InvokeHooked(item, index, isFirst, cancellationToken);
                if (hooked.IsCompletedSuccessfully)
                {
                    pending.Succeed(hooked.Result);
                }
                else
                {
                    WaitSlow(hooked, ref pending);
                }
            }
            else
            {
                InvokeSlow(item, index, isFirst, cancellationToken, ref pending);
            }

            return;
        }

        AttemptGuard guard = around.Guard;
        AttemptPhase next = guard.TryEnter(out CircuitTicket ticket);
        if (next != AttemptPhase.Call)
        {
            if (next == AttemptPhase.Circuit)
            {
                throw guard.CreateRejection();
            }

            EnterSlow(item, ticket, next, cancellationToken, ref pending);
            return;
        }

        ValueTask<TResult> task;
        try
        {
            task = selector(item, cancellationToken);
        }
        catch (Exception e)
        {
            around.Failed(ticket, e, 0, cancellationToken);
            throw;
        }

        if (!task.IsCompletedSuccessfully)
        {
            WaitSlow(task, ticket, cancellationToken, ref pending);
            return;
        }

        guard.Succeeded(ticket);
        pending.Succeed(task.Result);
    }

    public void GivenUp(TItem? item, long index) => policies.GivenUp(index, item);

    public void AddTo(ref RunSample sample) => policies.AddTo(ref sample);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void InvokeSlow(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void EnterSlow(TItem item, CircuitTicket ticket, AttemptPhase next, CancellationToken cancellationToken, ref PolicyPending<TResult> pending) =>
        pending = Attempt(item, next, ticket, null, cancellationToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void WaitSlow(ValueTask<TResult> task, CircuitTicket ticket, CancellationToken cancellationToken, ref PolicyPending<TResult> pending) =>
        pending = PolicyPending<TResult>.OfUser(task, policies, ticket, cancellationToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void WaitSlow(ValueTask<TResult> task, ref PolicyPending<TResult> pending) => pending = new(task);

    /// <summary>One attempt, as far as it gets without waiting.</summary>
    private PolicyPending<TResult> Attempt(TItem item, long index, ItemRecord? record, CancellationToken cancellationToken) =>
        keyed is not null ? AttemptByKey(keyed, item, index, record, cancellationToken)
        : policies.Places is not null ? AttemptWithPlace(item, index, record, cancellationToken)
        : Attempt(item, policies.Guard.TryEnter(out CircuitTicket ticket), ticket, record, cancellationToken);

    /// <summary>One attempt that needs a place of the concurrency limit.</summary>
    private PolicyPending<TResult> AttemptWithPlace(TItem item, long index, ItemRecord? record, CancellationToken cancellationToken)
    {
        Attempt attempt = Enter(policies.Guard, index, out Task? until, out WaitKind kind, cancellationToken);
        return until is null ? new(FinishAsync(policies.Guard, attempt, item, record, cancellationToken)) : new(policies, until, kind);
    }

    /// <summary>One attempt under the policies of its item's keys.</summary>
    private PolicyPending<TResult> AttemptByKey(
        KeyedGuards<TItem> guards, TItem item, long index, ItemRecord? record, CancellationToken cancellationToken)
    {
        KeyedGuard keys = guards.Of(item);
        Attempt attempt;
        Task? until;
        WaitKind kind;
        try
        {
            attempt = Enter(keys.Guard, index, out until, out kind, cancellationToken);
        }
        catch
        {
            keys.Release();
            throw;
        }

        if (until is null)
        {
            return new(FinishAsync(keys.Guard, attempt, item, record, cancellationToken, keys));
        }

        keys.Release();
        return new(policies, until, kind);
    }

    /// <summary>Gets an attempt as far as it gets without waiting; one that waits at the rate limit has its place in that queue.</summary>
    /// <param name="guard">What the attempt has to pass.</param>
    /// <param name="index">The item's index.</param>
    /// <param name="until">What the item has to wait for without a worker; then the attempt has not begun.</param>
    /// <param name="kind">What that is.</param>
    /// <param name="token">The token of the call.</param>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once, where the attempt goes on.")]
    private Attempt Enter(AttemptGuard guard, long index, out Task? until, out WaitKind kind, CancellationToken token)
    {
        (Attempt attempt, until, kind) = (default, null, default);
        if (guard.Places is not null || guard.BucketToWaitFor is not null)
        {
            attempt = policies.Places!.Enter(guard, index, token, out until, out kind);
        }
        else
        {
            attempt.Phase = guard.TryEnter(out attempt.Ticket);
            if (attempt.Phase == AttemptPhase.Circuit)
            {
                throw guard.CreateRejection();
            }
        }

        if (attempt.Phase == AttemptPhase.RateLimit)
        {
            attempt.Entry = guard.EnterRateLimit(token);
        }

        return attempt;
    }

    /// <summary>One attempt from its next step on.</summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly",
        Justification = "Consumed once: here when it has completed, else where the attempt goes on.")]
    private PolicyPending<TResult> Attempt(TItem item, AttemptPhase next, CircuitTicket ticket, ItemRecord? record, CancellationToken cancellationToken)
    {
        if (next != AttemptPhase.Call)
        {
            if (next == AttemptPhase.Circuit)
            {
                throw policies.Guard.CreateRejection();
            }

            ValueTask<IDisposable?> entry = policies.Guard.EnterRateLimit(cancellationToken);
            if (!entry.IsCompletedSuccessfully)
            {
                return new(FinishAsync(policies.Guard, new Attempt
                {
                    Phase = AttemptPhase.RateLimit,
                    Ticket = ticket,
                    Entry = entry,
                }, item, record, cancellationToken));
            }

            if (entry.Result is { } lease)
            {
                Attempt admitted = new() { Phase = AttemptPhase.Call, Ticket = ticket, Lease = lease };
                return new(FinishAsync(policies.Guard, admitted, item, record, cancellationToken));
            }
        }

        long started = policies.Adaptive?.Timestamp() ?? 0;
        ValueTask<TResult> task;
        try
        {
            task = Select(item, record, cancellationToken);
        }
        catch (Exception e)
        {
            policies.Failed(ticket, e, started, cancellationToken);
            throw;
        }

        if (!task.IsCompletedSuccessfully)
        {
            return new(task, policies, ticket, started, cancellationToken);
        }

        policies.Succeeded(ticket, started, cancellationToken);
        return new(task);
    }

    /// <summary>
    /// Makes the call, unless the item or its run has ended meanwhile. Each call that may come from a hook or a wait begins here.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ValueTask<TResult> Select(TItem item, ItemRecord? record, CancellationToken cancellationToken)
    {
        if (policies.Ends(cancellationToken))
        {
            throw new NotBegunException();
        }

        record?.CountCall();
        return attemptTimeout is null
            ? CallsBackOnce.Of(selector(item, cancellationToken))
            : attemptTimeout.ExecuteAsync(
                static (call, token) => CallsBackOnce.Of(call.selector(call.item, token)),
                (selector, item),
                typeof(TItem).IsValueType ? null : item,
                cancellationToken);
    }

    /// <summary>The rest of an attempt that has to wait at the rate limit, or holds something until its call has ended.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> FinishAsync(
        AttemptGuard guard, Attempt attempt, TItem item, ItemRecord? record, CancellationToken cancellationToken, KeyedGuard? keys = null)
    {
        try
        {
            while (attempt.Phase != AttemptPhase.Call)
            {
                if (attempt.Phase != AttemptPhase.RateLimit)
                {
                    attempt = await guard.EnterAsync(cancellationToken).ConfigureAwait(false);
                }

                bool waits = !attempt.Entry.IsCompleted;
                long since = waits ? policies.RateWaitBegins() : 0;
                try
                {
                    attempt.Lease = await attempt.Entry.ConfigureAwait(false);
                }
                finally
                {
                    if (waits)
                    {
                        policies.RateWaitEnds(since);
                    }
                }

                guard.PassRateLimit(ref attempt, waits, cancellationToken);
            }

            long started = policies.Adaptive?.Timestamp() ?? 0;
            TResult result;
            try
            {
                result = await Select(item, record, cancellationToken).ConfigureAwait(false);
            }
            catch (Exception e)
            {
                policies.Failed(guard, attempt.Ticket, e, started, cancellationToken);
                throw;
            }

            policies.Succeeded(guard, attempt.Ticket, started, cancellationToken);
            return result;
        }
        catch (OperationCanceledException) when (attempt.Phase != AttemptPhase.Call && policies.Ends(cancellationToken))
        {
            throw new NotBegunException();
        }
        finally
        {
            keys?.Release();
            guard.End(ref attempt);
        }
    }
}

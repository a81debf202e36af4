using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Threads;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The user's selector inside the run's policies and hooks.</summary>
/// <remarks>
/// There is no state machine while an item waits for nothing but the selector itself. This is the path of every item of a run whose policies do not act.
/// </remarks>
internal readonly struct PolicyCall<TItem, TResult>(
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

    // The item's hooks around the call, and the rule about its result.

    // Rare cases are in separate methods, because each entry to this method would have to clear their structs.
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly",
        Justification = "Consumed once: here when it has completed, else where the item goes on.")]
    private ValueTask<TResult> InvokeHooked(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        // One handler for both hooks instead of one for each.
        bool inHook = false;
        bool hasResult = false;
        TResult result = default!;
        try
        {
            if (isFirst && policies.Starting is { } starting)
            {
                inHook = true;
                ValueTask started = starting(Indices.ToInt(index));

                // A question to its task is part of the hook: one that somebody has awaited before throws.
                if (!started.IsCompletedSuccessfully)
                {
                    inHook = false;
                    return AfterStartAsync(started, item, index, cancellationToken);
                }

                started.GetAwaiter().GetResult();
                inHook = false;
            }

            ValueTask<TResult> pending = Select(item, null, cancellationToken);
            if (policies.Completed is not { } completed)
            {
                return pending;
            }

            if (!pending.IsCompletedSuccessfully)
            {
                return BeforeCompletionAsync(pending, item, index, cancellationToken);
            }

            result = pending.Result;
            if (policies.IsGivenUp(index, cancellationToken))
            {
                return new ValueTask<TResult>(result);
            }

            hasResult = true;
            inHook = true;
            ValueTask hook = completed(Indices.ToInt(index));
            if (!hook.IsCompletedSuccessfully)
            {
                inHook = false;
                return AfterCompletionAsync(hook, item, result);
            }

            hook.GetAwaiter().GetResult();
            return new ValueTask<TResult>(result);
        }
        catch (Exception e) when (inHook)
        {
            if (hasResult)
            {
                DiscardedResult.Drop(item, result);
            }

            policies.HookFailed(e);
            throw;
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> InvokeAllAsync(ItemRecord? record, TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        HookCalls<TItem>? hooks = record is null ? null : (HookCalls<TItem>?)policies.ItemHooks;
        record?.BeginAttempt();
        if (isFirst && policies.Starting is { } starting)
        {
            await policies.HookEndedAsync(policies.CallHook(starting, index)).ConfigureAwait(false);
        }

        if (isFirst && hooks is not null && !policies.IsGivenUp(index, cancellationToken))
        {
            await hooks.StartAsync(policies, record!, item, index).ConfigureAwait(false);
        }

        TResult result = await new PendingAwaiter<TResult, PolicyPending<TResult>>(Attempt(item, index, record, cancellationToken));
        if (policies.IsGivenUp(index, cancellationToken))
        {
            // Nobody asks about it any more. The engine disposes of the result.
            return result;
        }

        bool refused;
        try
        {
            refused = record is not null && policies.RetryRule is RetryRule<TResult> rule && policies.Refuses(rule, record, result);
            if (!refused && policies.Completed is { } completed)
            {
                await policies.HookEndedAsync(policies.CallHook(completed, index)).ConfigureAwait(false);
            }

            if (!refused && hooks is not null && !policies.IsGivenUp(index, cancellationToken))
            {
                await hooks.CompleteAsync(policies, record!, item, index).ConfigureAwait(false);
            }
        }
        catch
        {
            // The item fails, and nobody gets the result of its call.
            DiscardedResult.Drop(item, result);
            throw;
        }

        return refused ? throw new RefusedResultException<TResult>(result, !typeof(TItem).IsValueType && ReferenceEquals(item, result)) : result;
    }

    private async ValueTask<TResult> AfterStartAsync(ValueTask started, TItem item, long index, CancellationToken cancellationToken)
    {
        await policies.HookEndedAsync(started).ConfigureAwait(false);
        return await InvokeHooked(item, index, isFirst: false, cancellationToken).ConfigureAwait(false);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> BeforeCompletionAsync(ValueTask<TResult> pending, TItem item, long index, CancellationToken cancellationToken)
    {
        TResult result = await pending.ConfigureAwait(false);
        if (policies.IsGivenUp(index, cancellationToken))
        {
            return result;
        }

        try
        {
            await policies.HookEndedAsync(policies.CallHook(policies.Completed!, index)).ConfigureAwait(false);
            return result;
        }
        catch
        {
            DiscardedResult.Drop(item, result);
            throw;
        }
    }

    private async ValueTask<TResult> AfterCompletionAsync(ValueTask hook, TItem item, TResult result)
    {
        try
        {
            await policies.HookEndedAsync(hook).ConfigureAwait(false);
            return result;
        }
        catch
        {
            DiscardedResult.Drop(item, result);
            throw;
        }
    }
}

/// <summary>
/// A started call. When its result is taken, it reports its end to the run's policies, unless that has already been done. It is a struct rather than a state
/// machine, so a call that suspends costs the policies no allocation.
/// </summary>
internal struct PolicyPending<TResult> : IPending<TResult>
{
    private static readonly Task<TResult> NotBegun = Task.FromCanceled<TResult>(new CancellationToken(canceled: true));

    private ValueTask<TResult> _task;
    private CallPolicies? _policies;
    private readonly CircuitTicket _ticket;
    private readonly long _started;
    private readonly CancellationToken _cancellationToken;
    private readonly Task? _until;

    public PolicyPending(ValueTask<TResult> task) => _task = task;

    public PolicyPending(ValueTask<TResult> task, CallPolicies policies, CircuitTicket ticket, long started, CancellationToken cancellationToken)
    {
        _task = task;
        _policies = policies;
        _ticket = ticket;
        _started = started;
        _cancellationToken = cancellationToken;
    }

    /// <summary>A call that cannot begin, because its item waits for something else first.</summary>
    public PolicyPending(CallPolicies policies, Task until, WaitKind kind)
    {
        _task = new ValueTask<TResult>(NotBegun);
        _policies = policies;
        _until = until;

        // It has no start, and one more field would make every call larger.
        _started = (long)kind;
    }

    /// <summary>A call of the user that has not completed, or that has failed. If it cannot be waited for, that is reported to the policies here.</summary>
    public static PolicyPending<TResult> OfUser(ValueTask<TResult> task, CallPolicies policies, CircuitTicket ticket, CancellationToken cancellationToken)
    {
        try
        {
            return new(CallsBackOnce.Of(task), policies, ticket, 0, cancellationToken);
        }
        catch (Exception e)
        {
            policies.Failed(ticket, e, 0, cancellationToken);
            throw;
        }
    }

    public readonly Task? Until => _until;

    public readonly WaitKind WaitsFor => (WaitKind)_started;

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly TResult GetResult() => _policies is null ? _task.GetAwaiter().GetResult() : Report(_policies);

    public readonly bool CanBeParked => false;

    public readonly Task AsTask() => throw new UnreachableException();

    public readonly TResult ResultOf(Task call) => throw new UnreachableException();

    /// <summary>The calls of the user are tasks already; the others are our own.</summary>
    public readonly void BecomeTask()
    {
    }

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    /// <summary>Becomes a call that has ended and has been reported to the policies. Writes only the fields that record this.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeed(TResult result)
    {
        _task = new ValueTask<TResult>(result);
        _policies = null;
    }

    private readonly TResult Report(CallPolicies policies)
    {
        if (_until is not null)
        {
            throw new ItemWaitsException(policies.Places!, _until, WaitsFor);
        }

        TResult result;
        try
        {
            result = _task.GetAwaiter().GetResult();
        }
        catch (Exception e)
        {
            policies.Failed(_ticket, e, _started, _cancellationToken);
            throw;
        }

        policies.Succeeded(_ticket, _started, _cancellationToken);
        return result;
    }
}

/// <summary>Lets an async method await a started call of any kind, without capturing a context.</summary>
internal readonly struct PendingAwaiter<TResult, TPending>(TPending pending) : ICriticalNotifyCompletion
    where TPending : struct, IPending<TResult>
{
    public bool IsCompleted => pending.IsCompleted;

    public PendingAwaiter<TResult, TPending> GetAwaiter() => this;

    public TResult GetResult() => pending.GetResult();

    public void OnCompleted(Action continuation) => pending.OnCompleted(continuation);

    public void UnsafeOnCompleted(Action continuation) => pending.OnCompleted(continuation);
}

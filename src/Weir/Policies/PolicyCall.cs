using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Threads;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The user's selector inside the run's policies and hooks: the one way of an attempt of an item.</summary>
/// <remarks>
/// <para>
/// The steps are: the start hook; the keys of the item; what <see cref="AttemptGuard"/> asks, which is the circuit breaker, the concurrency limit, the rate
/// limit and the breaker once more; the call, in its time limit; the report of its end; what was held goes back; the rule about results; the completion hook.
/// </para>
/// <para>
/// <see cref="InvokeInto"/> takes them synchronously, as long as nothing is waited for and nothing is held that goes back. A call that suspends then needs no
/// state machine: its <see cref="PolicyPending{TResult}"/> reports its end. <see cref="ContinueAsync"/> takes all other steps, from whichever comes next.
/// </para>
/// </remarks>
[SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Each is consumed once: where it has completed, or where the attempt continues.")]
internal readonly struct PolicyCall<TItem, TResult>(
    Func<TItem, CancellationToken, ValueTask<TResult>> selector,
    CallPolicies policies,
    TimeoutPolicy<TResult>? attemptTimeout,
    KeyedGuards<TItem>? keyed = null)
    : ICall<TItem, PolicyPending<TResult>>
{
    public bool UsesInvokeInto => true;

    public PolicyPending<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        PolicyPending<TResult> pending = default;
        InvokeInto(item, index, isFirst, cancellationToken, ref pending);
        return pending;
    }

    /// <summary>The synchronous part, for items without hooks whose policies do not act.</summary>
    // Where it ends early, it calls methods of their own: the entry to this one would have to clear their large structs too. And an item around which there is
    // only a circuit breaker and our own rate limit asks for nothing else.
    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        CallPolicies around = policies;
        bool isSimple = around.IsSimple;
        if (!isSimple)
        {
            if (isFirst)
            {
                around.Budget?.Deposit();
            }

            if (!around.HoldsNothing)
            {
                Begin(item, index, isFirst, cancellationToken, ref pending);
                return;
            }
        }

        AttemptGuard guard = around.Guard;
        AttemptPhase next = guard.TryEnter(out CircuitTicket ticket);
        if (next != AttemptPhase.Call)
        {
            AwaitRate(next, ticket, item, index, cancellationToken, ref pending);
            return;
        }

        long started = isSimple ? 0 : around.Adaptive?.Timestamp() ?? 0;
        ValueTask<TResult> task;
        try
        {
            task = isSimple ? selector(item, cancellationToken) : Call(item, null, cancellationToken);
        }
        catch (Exception e)
        {
            around.Failed(guard, ticket, e, started, cancellationToken);
            throw;
        }

        if (!task.IsCompletedSuccessfully)
        {
            AwaitCall(task, ticket, started, cancellationToken, ref pending);
            return;
        }

        if (isSimple)
        {
            guard.Succeeded(ticket);
        }
        else
        {
            around.Succeeded(guard, ticket, started, cancellationToken);
        }

        pending.Succeed(task.Result);
    }

    public void GivenUp(TItem? item, long index) => policies.GivenUp(index, item);

    public void AddTo(ref RunSample sample) => policies.AddTo(ref sample);

    /// <summary>Begins an attempt with hooks, or one that holds something until its call has ended, or one whose item has a record.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Begin(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        if (policies.HasOnlyHooks)
        {
            InvokeHooked(item, index, isFirst, cancellationToken, ref pending);
            return;
        }

        BeginSlow(item, index, isFirst, cancellationToken, ref pending);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void BeginSlow(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        if (policies.HasHooks || policies.Records is not null)
        {
            pending = new(ContinueAsync(new() { Step = Step.Start }, policies.Guard, item, index, isFirst, cancellationToken));
            return;
        }

        // Without hooks, an item that has to wait is no failed attempt, and costs no exception.
        AttemptGuard guard = keyed?.Of(item) ?? policies.Guard;
        Attempt attempt = Enter(guard, index, out Task? until, out WaitKind kind, cancellationToken);
        pending = until is not null
            ? new(policies, until, kind)
            : new(ContinueAsync(new() { Step = Step.Entry, Attempt = attempt }, guard, item, index, isFirst, cancellationToken));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AwaitRate(
        AttemptPhase next, CircuitTicket ticket, TItem item, long index, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        AttemptGuard guard = policies.Guard;
        if (next == AttemptPhase.Circuit)
        {
            throw guard.CreateRejection();
        }

        Attempt attempt = new() { Phase = next, Ticket = ticket, Entry = guard.EnterRateLimit(cancellationToken) };
        pending = new(ContinueAsync(new() { Step = Step.Entry, Attempt = attempt }, guard, item, index, isFirst: false, cancellationToken));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AwaitCall(
        ValueTask<TResult> task, CircuitTicket ticket, long started, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        // The time limit's calls do so already, and would need a task for it.
        if (attemptTimeout is null)
        {
            try
            {
                task = CallsBackOnce.Of(task);
            }
            catch (Exception e)
            {
                policies.Failed(policies.Guard, ticket, e, started, cancellationToken);
                throw;
            }
        }

        pending = new(task, policies, ticket, started, cancellationToken);
    }

    /// <summary>The synchronous part of items around which there are only hooks.</summary>
    // Separate for speed alone. With the hooks in InvokeInto, which then needs a handler for them, an item with a circuit breaker took a third longer and one
    // with hooks twice as long (ResilienceNoopBenchmarks: 5.4 and 20 times the run without either, instead of 4.1 and 10).
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void InvokeHooked(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
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
                    AwaitHook(Step.StartHook, started, default!, item, index, cancellationToken, ref pending);
                    return;
                }

                started.GetAwaiter().GetResult();
                inHook = false;
            }

            ValueTask<TResult> task = Call(item, null, cancellationToken);
            if (!task.IsCompletedSuccessfully)
            {
                AwaitHookedCall(task, item, index, cancellationToken, ref pending);
                return;
            }

            result = task.Result;
            if (policies.Completed is { } completed && !policies.IsGivenUp(index, cancellationToken))
            {
                hasResult = true;
                inHook = true;
                ValueTask hook = completed(Indices.ToInt(index));
                if (!hook.IsCompletedSuccessfully)
                {
                    inHook = false;
                    AwaitHook(Step.CompletionHook, hook, result, item, index, cancellationToken, ref pending);
                    return;
                }

                hook.GetAwaiter().GetResult();
            }

            pending.Succeed(result);
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

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AwaitHook(
        Step step, ValueTask hook, TResult result, TItem item, long index, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        Way way = new() { Step = step, Hook = hook, Result = result };
        pending = new(ContinueAsync(way, policies.Guard, item, index, isFirst: true, cancellationToken));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AwaitHookedCall(ValueTask<TResult> task, TItem item, long index, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
    {
        if (policies.Completed is null)
        {
            pending = new(task);
            return;
        }

        Way way = new() { Step = Step.Call, Attempt = new() { Phase = AttemptPhase.Call }, Call = task };
        pending = new(ContinueAsync(way, policies.Guard, item, index, isFirst: true, cancellationToken));
    }

    /// <summary>
    /// Gets an attempt as far as it gets without waiting; one that waits at the rate limit stands in that queue. One that has to wait elsewhere, or that throws,
    /// uses the policies of its keys no longer.
    /// </summary>
    /// <param name="guard">What the attempt has to pass.</param>
    /// <param name="index">The item's index.</param>
    /// <param name="until">What the item has to wait for without a worker; then the attempt has not begun.</param>
    /// <param name="kind">What that is.</param>
    /// <param name="token">The token of the call.</param>
    private Attempt Enter(AttemptGuard guard, long index, out Task? until, out WaitKind kind, CancellationToken token)
    {
        (Attempt attempt, until, kind) = (default, null, default);
        bool entered = false;
        try
        {
            if (guard.Permits is not null || guard.BucketToWaitFor is not null)
            {
                attempt = policies.Permits!.Enter(guard, index, token, out until, out kind);
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

            entered = until is null;
            return attempt;
        }
        finally
        {
            if (!entered)
            {
                guard.ReleaseKeys();
            }
        }
    }

    /// <summary>Makes the call, unless the item or its run has ended meanwhile: a hook or a wait may have come before.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private ValueTask<TResult> Call(TItem item, ItemRecord? record, CancellationToken cancellationToken)
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

    /// <summary>The rest of the way, from its next step on.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> ContinueAsync(
        Way way, AttemptGuard guard, TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        ItemRecord? record = null;
        HookCalls<TItem>? hooks = null;
        if (way.Step == Step.Start)
        {
            record = policies.Records?.Begin(index, item);
            hooks = record is null ? null : (HookCalls<TItem>?)policies.ItemHooks;
            record?.BeginAttempt();
            if (isFirst && policies.Starting is { } starting)
            {
                way.Hook = policies.CallHook(starting, index);
                way.Step = Step.StartHook;
            }
        }

        if (way.Step == Step.StartHook)
        {
            await policies.HookEndedAsync(way.Hook).ConfigureAwait(false);
        }

        if (way.Step <= Step.StartHook)
        {
            if (isFirst && hooks is not null && !policies.IsGivenUp(index, cancellationToken))
            {
                await hooks.StartAsync(policies, record!, item, index).ConfigureAwait(false);
            }

            guard = keyed?.Of(item) ?? guard;
            if (guard.Budget is { } budget)
            {
                record!.Budget = budget;
                if (isFirst)
                {
                    budget.Deposit();
                }
            }

            way.Attempt = Enter(guard, index, out Task? until, out WaitKind kind, cancellationToken);
            if (until is not null)
            {
                throw new ItemWaitsException(policies.Permits!, until, kind);
            }
        }

        if (way.Step <= Step.Call)
        {
            try
            {
                while (way.Attempt.Phase != AttemptPhase.Call)
                {
                    if (way.Attempt.Phase != AttemptPhase.RateLimit)
                    {
                        way.Attempt = await guard.EnterAsync(cancellationToken).ConfigureAwait(false);
                    }

                    bool waits = !way.Attempt.Entry.IsCompleted;
                    long since = waits ? policies.RateWaitBegins() : 0;
                    try
                    {
                        way.Attempt.Lease = await way.Attempt.Entry.ConfigureAwait(false);
                    }
                    finally
                    {
                        if (waits)
                        {
                            policies.RateWaitEnds(since);
                        }
                    }

                    guard.PassRateLimit(ref way.Attempt, waits, cancellationToken);
                }

                try
                {
                    if (way.Step != Step.Call)
                    {
                        way.Started = policies.Adaptive?.Timestamp() ?? 0;
                        way.Attempt.Begun = guard.BeginCall();
                        way.Call = Call(item, record, cancellationToken);
                    }

                    way.Result = await way.Call.ConfigureAwait(false);
                }
                catch (Exception e)
                {
                    if (e is not NotBegunException)
                    {
                        guard.EndCall(way.Attempt.Begun, e, cancellationToken, policies.RunToken);
                    }

                    policies.Failed(guard, way.Attempt.Ticket, e, way.Started, cancellationToken);
                    throw;
                }

                guard.EndCall(way.Attempt.Begun);
                policies.Succeeded(guard, way.Attempt.Ticket, way.Started, cancellationToken);
            }
            catch (OperationCanceledException) when (way.Attempt.Phase != AttemptPhase.Call && policies.Ends(cancellationToken))
            {
                throw new NotBegunException();
            }
            finally
            {
                guard.ReleaseKeys();
                guard.End(ref way.Attempt);
            }

            if (policies.IsGivenUp(index, cancellationToken))
            {
                // Nobody asks about it any more. The engine disposes of the result.
                return way.Result;
            }
        }

        TResult result = way.Result;
        bool refused;
        try
        {
            refused = record is not null && policies.RetryRule is RetryRule<TResult> rule && policies.Refuses(rule, record, result, guard.Breaker);
            if (!refused && policies.Completed is { } completed)
            {
                await policies.HookEndedAsync(way.Step == Step.CompletionHook ? way.Hook : policies.CallHook(completed, index)).ConfigureAwait(false);
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

    /// <summary>The steps at which <see cref="ContinueAsync"/> takes over, in their order.</summary>
    private enum Step
    {
        /// <summary>Nothing has been done.</summary>
        Start,

        /// <summary>The start hook was called, and its end is to be awaited.</summary>
        StartHook,

        /// <summary>The attempt is at the rate limit or at its call.</summary>
        Entry,

        /// <summary>The call was made, and its end is to be awaited.</summary>
        Call,

        /// <summary>The call has its result. The completion hook was called, and its end is to be awaited.</summary>
        CompletionHook,
    }

    /// <summary>How far an attempt is, with what its next step needs.</summary>
    private struct Way
    {
        public Step Step;

        /// <summary>The hook that was called.</summary>
        public ValueTask Hook;

        /// <summary>What the attempt holds, from <see cref="Step.Entry"/> on.</summary>
        public Attempt Attempt;

        /// <summary>The call, and when it was made.</summary>
        public ValueTask<TResult> Call;
        public long Started;

        public TResult Result;
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

    public readonly Task AsTask() => _task.AsTask();

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
            throw new ItemWaitsException(policies.Permits!, _until, WaitsFor);
        }

        TResult result;
        try
        {
            result = _task.GetAwaiter().GetResult();
        }
        catch (Exception e)
        {
            policies.Failed(policies.Guard, _ticket, e, _started, _cancellationToken);
            throw;
        }

        policies.Succeeded(policies.Guard, _ticket, _started, _cancellationToken);
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

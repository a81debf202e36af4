using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Operators;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The user's selector inside the run's policies and hooks.</summary>
/// <remarks>
/// There is no state machine while an item waits for nothing but the selector itself. This is the path of every item of a run whose policies do not act.
/// </remarks>
internal readonly struct PolicyCall<TItem, TResult>(
    Func<TItem, CancellationToken, ValueTask<TResult>> selector, CallPolicies policies, TimeoutPolicy<TResult>? attemptTimeout)
    : ICall<TItem, PolicyPending<TResult>>
{
    public bool InvokesInPlace => true;

    public PolicyPending<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) =>
        !policies.HasHooks ? Attempt(item, cancellationToken)
        : policies.HasOnlyHooks ? new(InvokeHooked(item, index, isFirst, cancellationToken))
        : new(InvokeAllAsync(item, index, isFirst, cancellationToken));

    /// <summary>
    /// Makes the call, as far as it gets without waiting, inside only hooks or only a circuit breaker and our own rate limit. Other calls go elsewhere.
    /// </summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once: here when it has completed, else where the attempt goes on.")]
    public void InvokeInPlace(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending)
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
                    WaitElsewhere(hooked, ref pending);
                }
            }
            else
            {
                InvokeElsewhere(item, index, isFirst, cancellationToken, ref pending);
            }

            return;
        }

        CircuitTicket ticket = default;
        CircuitBreaker? breaker = around.Breaker;
        if (breaker is not null && !breaker.TryEnter(out ticket))
        {
            throw breaker.CreateRejection();
        }

        if (around.Bucket is { } bucket && !bucket.TryEnter())
        {
            EnterElsewhere(item, ticket, cancellationToken, ref pending);
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
            WaitElsewhere(task, ticket, cancellationToken, ref pending);
            return;
        }

        breaker?.Succeeded(ticket);
        pending.Succeed(task.Result);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void InvokeElsewhere(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PolicyPending<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void EnterElsewhere(TItem item, CircuitTicket ticket, CancellationToken cancellationToken, ref PolicyPending<TResult> pending) =>
        pending = Attempt(item, ticket, isLetIn: false, cancellationToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void WaitElsewhere(ValueTask<TResult> task, CircuitTicket ticket, CancellationToken cancellationToken, ref PolicyPending<TResult> pending) =>
        pending = new(task, policies, ticket, 0, cancellationToken);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void WaitElsewhere(ValueTask<TResult> task, ref PolicyPending<TResult> pending) => pending = new(task);

    // Here and below, rare cases are in separate methods, because each entry to this method would have to clear their structs.
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once: here when it has completed, else where the item goes on.")]
    private ValueTask<TResult> InvokeHooked(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        // One handler for both hooks instead of one for each.
        bool inHook = false;
        try
        {
            if (isFirst && policies.Starting is { } starting)
            {
                inHook = true;
                ValueTask started = starting(Indices.ToInt(index));
                inHook = false;
                if (!started.IsCompletedSuccessfully)
                {
                    return AfterStartAsync(started, item, index, cancellationToken);
                }

                started.GetAwaiter().GetResult();
            }

            ValueTask<TResult> pending = selector(item, cancellationToken);
            if (policies.Completed is not { } completed)
            {
                return pending;
            }

            if (!pending.IsCompletedSuccessfully)
            {
                return BeforeCompletionAsync(pending, index);
            }

            TResult result = pending.Result;
            inHook = true;
            ValueTask told = completed(Indices.ToInt(index));
            inHook = false;
            if (!told.IsCompletedSuccessfully)
            {
                return AfterCompletionAsync(told, result);
            }

            told.GetAwaiter().GetResult();
            return new ValueTask<TResult>(result);
        }
        catch (Exception e) when (inHook)
        {
            policies.HookFailed(e);
            throw;
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> InvokeAllAsync(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        if (isFirst && policies.Starting is { } starting)
        {
            await policies.ToldAsync(policies.Tell(starting, index)).ConfigureAwait(false);
        }

        TResult result = await new PendingAwaiter<TResult, PolicyPending<TResult>>(Attempt(item, cancellationToken));
        if (policies.Completed is { } completed)
        {
            await policies.ToldAsync(policies.Tell(completed, index)).ConfigureAwait(false);
        }

        return result;
    }

    /// <summary>One attempt, as far as it gets without waiting.</summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once: here when it has completed, else where the attempt goes on.")]
    private PolicyPending<TResult> Attempt(TItem item, CancellationToken cancellationToken)
    {
        CircuitTicket ticket = default;
        if (policies.Breaker is { } breaker && !breaker.TryEnter(out ticket))
        {
            throw breaker.CreateRejection();
        }

        return Attempt(item, ticket, isLetIn: policies.Bucket is { } bucket && bucket.TryEnter(), cancellationToken);
    }

    /// <summary>One attempt that the circuit breaker has admitted.</summary>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once: here when it has completed, else where the attempt goes on.")]
    private PolicyPending<TResult> Attempt(TItem item, CircuitTicket ticket, bool isLetIn, CancellationToken cancellationToken)
    {
        if (policies.Gate is { } gate && !isLetIn)
        {
            ValueTask<IDisposable?> entry = Enter(gate, ticket, cancellationToken);
            if (!entry.IsCompletedSuccessfully)
            {
                return new(AfterGateAsync(entry, mayHaveWaited: true, ticket, item, cancellationToken));
            }

            if (entry.Result is { } lease)
            {
                return new(AfterGateAsync(new ValueTask<IDisposable?>(lease), mayHaveWaited: false, ticket, item, cancellationToken));
            }
        }

        long started = policies.Adaptive?.Timestamp() ?? 0;
        ValueTask<TResult> task;
        try
        {
            task = Select(item, cancellationToken);
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

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ValueTask<TResult> Select(TItem item, CancellationToken cancellationToken) =>
        attemptTimeout is null
            ? selector(item, cancellationToken)
            : attemptTimeout.ExecuteAsync(static (call, token) => call.selector(call.item, token), (selector, item), cancellationToken);

    /// <summary>An attempt that its rate gate made wait, or that holds a lease of the gate.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> AfterGateAsync(
        ValueTask<IDisposable?> entry, bool mayHaveWaited, CircuitTicket ticket, TItem item, CancellationToken cancellationToken)
    {
        IDisposable? lease;
        try
        {
            lease = await entry.ConfigureAwait(false);
        }
        catch
        {
            // Nothing was called, so there is no outcome to report.
            policies.Breaker?.Ignored(ticket);
            throw;
        }

        try
        {
            // A wait may end just before it learns of a cancellation. No attempt may begin after the end of the run.
            if (cancellationToken.IsCancellationRequested)
            {
                policies.Breaker?.Ignored(ticket);
                throw new OperationCanceledException(cancellationToken);
            }

            // A circuit that opened while this attempt was queued must stop it: its ticket is from an older generation.
            if (mayHaveWaited && policies.Breaker is { } breaker && !breaker.IsCurrent(ticket) && !breaker.TryEnter(out ticket))
            {
                throw breaker.CreateRejection();
            }

            long started = policies.Adaptive?.Timestamp() ?? 0;
            TResult result;
            try
            {
                result = await Select(item, cancellationToken).ConfigureAwait(false);
            }
            catch (Exception e)
            {
                policies.Failed(ticket, e, started, cancellationToken);
                throw;
            }

            policies.Succeeded(ticket, started, cancellationToken);
            return result;
        }
        finally
        {
            lease?.Dispose();
        }
    }

    private async ValueTask<TResult> AfterStartAsync(ValueTask started, TItem item, long index, CancellationToken cancellationToken)
    {
        await policies.ToldAsync(started).ConfigureAwait(false);
        return await InvokeHooked(item, index, isFirst: false, cancellationToken).ConfigureAwait(false);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> BeforeCompletionAsync(ValueTask<TResult> pending, long index)
    {
        TResult result = await pending.ConfigureAwait(false);
        await policies.ToldAsync(policies.Tell(policies.Completed!, index)).ConfigureAwait(false);
        return result;
    }

    private async ValueTask<TResult> AfterCompletionAsync(ValueTask told, TResult result)
    {
        await policies.ToldAsync(told).ConfigureAwait(false);
        return result;
    }

    private ValueTask<IDisposable?> Enter(IRateGate gate, CircuitTicket ticket, CancellationToken cancellationToken)
    {
        try
        {
            return gate.EnterAsync(cancellationToken);
        }
        catch
        {
            policies.Breaker?.Ignored(ticket);
            throw;
        }
    }
}

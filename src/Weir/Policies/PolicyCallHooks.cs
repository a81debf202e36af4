using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core;

namespace Weir.Policies;

/// <content>The item's hooks around the call, and the rule about its result.</content>
internal readonly partial struct PolicyCall<TItem, TResult>
{
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

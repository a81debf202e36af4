using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Resilience;

namespace Weir.Policies;

/// <content>The hooks around an item's attempts.</content>
internal readonly partial struct PolicyCall<TItem, TResult>
{
    // Here and below, rare cases are in separate methods, because each entry to this method would have to clear their structs.
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly",
        Justification = "Consumed once: here when it has completed, else where the item goes on.")]
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

            ValueTask<TResult> pending = Select(item, null, cancellationToken);
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
            ValueTask hook = completed(Indices.ToInt(index));
            inHook = false;
            if (!hook.IsCompletedSuccessfully)
            {
                return AfterCompletionAsync(hook, result);
            }

            hook.GetAwaiter().GetResult();
            return new ValueTask<TResult>(result);
        }
        catch (Exception e) when (inHook)
        {
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

        if (isFirst && hooks is not null)
        {
            await hooks.StartAsync(policies, record!, item, index).ConfigureAwait(false);
        }

        TResult result = await new PendingAwaiter<TResult, PolicyPending<TResult>>(Attempt(item, index, record, cancellationToken));
        if (record is not null && policies.RetryRule is RetryRule<TResult> rule && policies.Refuses(rule, record, result))
        {
            throw new RefusedResultException<TResult>(result);
        }

        if (policies.Completed is { } completed)
        {
            await policies.HookEndedAsync(policies.CallHook(completed, index)).ConfigureAwait(false);
        }

        if (hooks is not null)
        {
            await hooks.CompleteAsync(policies, record!, item, index).ConfigureAwait(false);
        }

        return result;
    }

    private async ValueTask<TResult> AfterStartAsync(ValueTask started, TItem item, long index, CancellationToken cancellationToken)
    {
        await policies.HookEndedAsync(started).ConfigureAwait(false);
        return await InvokeHooked(item, index, isFirst: false, cancellationToken).ConfigureAwait(false);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> BeforeCompletionAsync(ValueTask<TResult> pending, long index)
    {
        TResult result = await pending.ConfigureAwait(false);
        await policies.HookEndedAsync(policies.CallHook(policies.Completed!, index)).ConfigureAwait(false);
        return result;
    }

    private async ValueTask<TResult> AfterCompletionAsync(ValueTask hook, TResult result)
    {
        await policies.HookEndedAsync(hook).ConfigureAwait(false);
        return result;
    }
}

using Weir.Core.Dispatch;

namespace Weir.Operators;

/// <summary>The user's action between the start and the completion hook; only the action's own latency is told to the adaptive limit.</summary>
internal readonly struct AdaptiveHookedActionCall<TItem>(
    Func<TItem, CancellationToken, ValueTask> action, ParallelRunOptions options, AdaptiveController controller)
    : ICall<TItem, PendingNothing>
{
    public PendingNothing Invoke(TItem item, long index, CancellationToken cancellationToken) =>
        new(InvokeAsync(action, options, controller, item, Indices.ToInt(index), cancellationToken));

    private static async ValueTask InvokeAsync(
        Func<TItem, CancellationToken, ValueTask> action,
        ParallelRunOptions options,
        AdaptiveController controller,
        TItem item,
        int index,
        CancellationToken cancellationToken)
    {
        if (options.OnStartItemAsync is { } starting)
        {
            await starting(index).ConfigureAwait(false);
        }

        long started = controller.Timestamp();
        bool succeeded = false;
        try
        {
            await action(item, cancellationToken).ConfigureAwait(false);
            succeeded = true;
        }
        finally
        {
            controller.Ended(started, succeeded, cancellationToken);
        }

        if (options.OnCompleteItemAsync is { } completed)
        {
            await completed(index).ConfigureAwait(false);
        }
    }
}

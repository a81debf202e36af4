using Weir.Core.Dispatch;

namespace Weir.Operators;

/// <summary>The user's selector between the start and the completion hook; only the selector's own latency is told to the adaptive limit.</summary>
internal readonly struct AdaptiveHookedCall<TItem, TResult>(
    Func<TItem, CancellationToken, ValueTask<TResult>> selector, ParallelRunOptions options, AdaptiveController controller)
    : ICall<TItem, PendingResult<TResult>>
{
    public PendingResult<TResult> Invoke(TItem item, long index, CancellationToken cancellationToken) =>
        new(InvokeAsync(selector, options, controller, item, Indices.ToInt(index), cancellationToken));

    private static async ValueTask<TResult> InvokeAsync(
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
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
        TResult result;
        try
        {
            result = await selector(item, cancellationToken).ConfigureAwait(false);
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

        return result;
    }
}

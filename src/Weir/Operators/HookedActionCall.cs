using Weir.Core.Dispatch;
using Weir.Core.Sinks;

namespace Weir.Operators;

/// <summary>The user's action between the start and the completion hook.</summary>
internal readonly struct HookedActionCall<TItem>(Func<TItem, CancellationToken, ValueTask> action, ParallelRunOptions options)
    : ICall<TItem, PendingNothing>
{
    public PendingNothing Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) =>
        new(InvokeAsync(action, options, item, Indices.ToInt(index), isFirst, cancellationToken));

    private static async ValueTask InvokeAsync(
        Func<TItem, CancellationToken, ValueTask> action,
        ParallelRunOptions options,
        TItem item,
        int index,
        bool isFirst,
        CancellationToken cancellationToken)
    {
        if (isFirst && options.OnStartItemAsync is { } starting)
        {
            await starting(index).ConfigureAwait(false);
        }

        await action(item, cancellationToken).ConfigureAwait(false);
        if (options.OnCompleteItemAsync is { } completed)
        {
            await completed(index).ConfigureAwait(false);
        }
    }
}

using Weir.Core.Dispatch;
using Weir.Core.Sinks;

namespace Weir.Operators;

/// <summary>The user's selector between the start and the completion hook.</summary>
internal readonly struct HookedCall<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> selector, ParallelRunOptions options)
    : ICall<TItem, PendingResult<TResult>>
{
    public PendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) =>
        new(InvokeAsync(selector, options, item, Indices.ToInt(index), isFirst, cancellationToken));

    private static async ValueTask<TResult> InvokeAsync(
        Func<TItem, CancellationToken, ValueTask<TResult>> selector,
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

        TResult result = await selector(item, cancellationToken).ConfigureAwait(false);
        if (options.OnCompleteItemAsync is { } completed)
        {
            await completed(index).ConfigureAwait(false);
        }

        return result;
    }
}

using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Operators;
using Weir.Resilience;

namespace Weir.Runtimes;

/// <summary>
/// A processor that waits for a place of a concurrency limit inside its call. For runtimes that keep no items waiting elsewhere. The place is returned at the
/// end of the call, or when its token is cancelled, because a call that was given up may never end.
/// </summary>
internal sealed class LimitedProcessor<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> processor, SharedConcurrencyLimit limit) : IWrapped
{
    public Delegate Call => processor;

    /// <summary>The processor under the limit, if there is one.</summary>
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Of(
        Func<TItem, CancellationToken, ValueTask<TResult>> processor, SharedConcurrencyLimit? limit) =>
        limit is null ? processor : new LimitedProcessor<TItem, TResult>(processor, limit).InvokeAsync;

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<TResult> InvokeAsync(TItem item, CancellationToken cancellationToken)
    {
        try
        {
            await limit.EnterAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            throw new NotBegunException();
        }

        TimedPlace place = new(limit.AnyPlace, cancellationToken, CancellationToken.None);
        try
        {
            if (cancellationToken.IsCancellationRequested)
            {
                throw new NotBegunException();
            }

            return await CallsBackOnce.Of(processor(item, cancellationToken)).ConfigureAwait(false);
        }
        finally
        {
            place.Leave();
        }
    }
}

using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Policies;

namespace Weir.Observability;

/// <summary>Wraps a call and runs it inside the span of its item.</summary>
internal readonly struct TracedCall<TItem, TResult, TPending, TCall>(TCall inner, RunTrace trace) : ICall<TItem, PendingResult<TResult>>
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
{
    public bool UsesInvokeInto => false;

    public PendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) =>
        new(InvokeAsync(inner, trace, item, index, isFirst, cancellationToken));

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref PendingResult<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public void GivenUp(TItem? item, long index) => inner.GivenUp(item, index);

    public void AddTo(ref RunSample sample) => inner.AddTo(ref sample);

    private static async ValueTask<TResult> InvokeAsync(
        TCall inner, RunTrace trace, TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        ItemTrace? span = trace.AttemptBegins(index, isFirst);
        try
        {
            TResult result = await new PendingAwaiter<TResult, TPending>(inner.Invoke(item, index, isFirst, cancellationToken));
            if (span is not null)
            {
                RunTrace.AttemptEnded(span, null);
            }

            return result;
        }
        catch (Exception error) when (Note(span, error))
        {
            throw;
        }
    }

    private static bool Note(ItemTrace? span, Exception error)
    {
        // An item whose call was not made, such as one that has to wait for its place, has attempted nothing.
        if (span is not null && error is not NotBegunException)
        {
            RunTrace.AttemptEnded(span, error is RefusedResultException ? null : error);
        }

        return false;
    }
}

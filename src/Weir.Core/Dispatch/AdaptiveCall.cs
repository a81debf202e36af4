using Weir.Core.Metering;

namespace Weir.Core.Dispatch;

/// <summary>Wraps a call and reports its latency to the adaptive limit.</summary>
internal struct AdaptiveCall<TItem, TResult, TPending, TCall>(TCall inner, AdaptiveController controller) : ICall<TItem, AdaptivePending<TResult, TPending>>
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
{
    private AdaptiveMeter _meter = new(controller);

    public bool UsesInvokeInto => false;

    public AdaptivePending<TResult, TPending> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        _meter.Begin();
        TPending pending;
        try
        {
            pending = inner.Invoke(item, index, isFirst, cancellationToken);
        }
        catch
        {
            _meter.Failed(cancellationToken);
            throw;
        }

        if (!pending.IsCompletedSuccessfully)
        {
            return new(pending, _meter.Controller, _meter.Suspended(cancellationToken), cancellationToken);
        }

        _meter.Completed(cancellationToken);
        return new(pending);
    }

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref AdaptivePending<TResult, TPending> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public readonly void GivenUp(TItem? item, long index) => inner.GivenUp(item, index);

    public readonly void AddTo(ref RunSample sample) => inner.AddTo(ref sample);
}

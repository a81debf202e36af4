namespace Weir.Core.Dispatch;

/// <summary>Calls the user's selector and reports its latency to the adaptive limit.</summary>
internal struct AdaptiveCall<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> selector, AdaptiveController controller)
    : ICall<TItem, AdaptivePendingResult<TResult>>
{
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _selector = selector;
    private AdaptiveMeter _meter = new(controller);

    public bool UsesInvokeInto => false;

    public AdaptivePendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        _meter.Begin();
        ValueTask<TResult> task;
        try
        {
            task = _selector(item, cancellationToken);
        }
        catch
        {
            _meter.Failed(cancellationToken);
            throw;
        }

        if (!task.IsCompletedSuccessfully)
        {
            return new(task, _meter.Controller, _meter.Suspended(cancellationToken), cancellationToken);
        }

        _meter.Completed(cancellationToken);
        return new(task);
    }

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref AdaptivePendingResult<TResult> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public readonly void GivenUp(TItem? item, long index)
    {
    }
}

namespace Weir.Core.Dispatch;

/// <summary>Calls the user's action and reports its latency to the adaptive limit.</summary>
internal struct AdaptiveActionCall<TItem>(Func<TItem, CancellationToken, ValueTask> action, AdaptiveController controller)
    : ICall<TItem, AdaptivePendingNothing>
{
    private readonly Func<TItem, CancellationToken, ValueTask> _action = action;
    private AdaptiveMeter _meter = new(controller);

    public bool UsesInvokeInto => false;

    public AdaptivePendingNothing Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        _meter.Begin();
        ValueTask task;
        try
        {
            task = _action(item, cancellationToken);
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

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref AdaptivePendingNothing pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public readonly void GivenUp(TItem? item, long index)
    {
    }
}

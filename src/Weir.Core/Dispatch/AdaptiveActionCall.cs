namespace Weir.Core.Dispatch;

/// <summary>The user's action, with its latency told to the adaptive limit; see <see cref="AdaptiveCall{TItem, TResult}"/>.</summary>
internal struct AdaptiveActionCall<TItem>(Func<TItem, CancellationToken, ValueTask> action, AdaptiveController controller)
    : ICall<TItem, AdaptivePendingNothing>
{
    private readonly Func<TItem, CancellationToken, ValueTask> _action = action;
    private readonly AdaptiveController _controller = controller;
    private long _lastEnded;

    public AdaptivePendingNothing Invoke(TItem item, long index, CancellationToken cancellationToken)
    {
        long started = _lastEnded != 0 ? _lastEnded : _controller.Timestamp();
        _lastEnded = 0;
        ValueTask task;
        try
        {
            task = _action(item, cancellationToken);
        }
        catch
        {
            _controller.Ended(started, succeeded: false, cancellationToken);
            throw;
        }

        if (!task.IsCompletedSuccessfully)
        {
            return new(task, _controller, started, cancellationToken);
        }

        _lastEnded = _controller.Timestamp();
        _controller.EndedAt(started, _lastEnded, cancellationToken);
        return new(task);
    }
}

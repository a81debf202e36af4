namespace Weir.Core.Dispatch;

/// <summary>The user's selector, with its latency told to the adaptive limit.</summary>
/// <remarks>
/// A worker copies the call for each chunk and uses the copy for its items in turn. The copy remembers when the last item ended, which is when
/// the next one starts: one look at the clock for an item that completes at once. A call made from anywhere else just looks twice.
/// </remarks>
internal struct AdaptiveCall<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> selector, AdaptiveController controller)
    : ICall<TItem, AdaptivePendingResult<TResult>>
{
    private readonly Func<TItem, CancellationToken, ValueTask<TResult>> _selector = selector;
    private readonly AdaptiveController _controller = controller;
    private long _lastEnded;

    public AdaptivePendingResult<TResult> Invoke(TItem item, long index, CancellationToken cancellationToken)
    {
        long started = _lastEnded != 0 ? _lastEnded : _controller.Timestamp();
        _lastEnded = 0;
        ValueTask<TResult> task;
        try
        {
            task = _selector(item, cancellationToken);
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

namespace Weir.Core.Sinks;

/// <content>The consumer leaves.</content>
internal abstract partial class StreamOutput<TResult>
{
    /// <summary>Disposes of the results that the consumer leaves behind; null if that is not asked for.</summary>
    public UnusedResults<TResult>? Unused { get; init; }

    /// <summary>Stops the run if it is still active, and waits until nothing of it is left.</summary>
    public ValueTask DisposeAsync()
    {
        if (_disposed)
        {
            return default;
        }

        _disposed = true;
        int next = _takenNext;
        _takenNext = _takenCount;
        _start = null;
        if (_run is null)
        {
            return default;
        }

        _run.Abandon();
        if (Unused is { } unused)
        {
            return new ValueTask(DisposeOfRestAsync(unused, next));
        }

        if (!_ended.Task.IsCompleted)
        {
            return new ValueTask(DropWhenEndedAsync());
        }

        Drop();
        return default;
    }

    protected abstract void DropNeedsLock();

    /// <summary>Adds the results that nobody has taken.</summary>
    protected abstract void AddLeftNeedsLock(UnusedResults<TResult> to, ref HashSet<object>? unused);

    // Separate, because nearly all streams have ended when they are disposed.
    private async Task DropWhenEndedAsync()
    {
        await _ended.Task.ConfigureAwait(false);
        Drop();
    }

    private async Task DisposeOfRestAsync(UnusedResults<TResult> unused, int next)
    {
        await _ended.Task.ConfigureAwait(false);
        HashSet<object>? left = null;
        unused.Add(ref left, _taken.AsSpan(next, _takenCount - next));
        lock (Lock)
        {
            AddLeftNeedsLock(unused, ref left);
        }

        Drop();
        await unused.DisposeAsync(left).ConfigureAwait(false);
    }

    private void Drop()
    {
        ReturnBuffer(_taken);
        _taken = [];
        _takenCount = 0;
        _takenNext = 0;
        lock (Lock)
        {
            DropNeedsLock();
        }
    }
}

namespace Weir.Dataflow.Cores;

/// <summary>A block's Completion, which costs nothing until it is requested or happens.</summary>
internal struct BlockCompletion
{
    private TaskCompletionSource? _source;

    public Task Task => Source.Task;

    /// <summary>Whether the block is complete. Creates no task.</summary>
    public readonly bool IsCompleted => Volatile.Read(in _source) is { Task.IsCompleted: true };

    // Continuations never run on the thread that completes the block, because it may be any thread of user code.
    private TaskCompletionSource Source =>
        Volatile.Read(ref _source)
        ?? Interlocked.CompareExchange(ref _source, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously), null)
        ?? _source;

    /// <summary>Completes with the exceptions if there are any; otherwise as cancelled if the block's token is, or else successfully.</summary>
    public void Complete(List<Exception>? exceptions, CancellationToken token)
    {
        if (exceptions is not null)
        {
            Source.TrySetException(exceptions);
        }
        else if (token.IsCancellationRequested)
        {
            Source.TrySetCanceled(token);
        }
        else
        {
            Source.TrySetResult();
        }
    }
}

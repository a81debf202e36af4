using System.Threading.Tasks.Dataflow;

namespace Weir.Dataflow.Links;

/// <summary>What the protocol of blocks asks of all of them: checks of arguments, texts of exceptions, and how an end reaches linked targets.</summary>
internal static class Protocol
{
    public const string NoData = "The source completed without providing data to receive.";

    public static void CheckOffer(DataflowMessageHeader messageHeader, object? source, bool consumeToAccept)
    {
        if (!messageHeader.IsValid)
        {
            throw new ArgumentException("The DataflowMessageHeader instance does not represent a valid message header.", nameof(messageHeader));
        }

        if (source is null && consumeToAccept)
        {
            throw new ArgumentException("The argument must be false if no source from which to consume is specified.", nameof(consumeToAccept));
        }
    }

    public static void CheckTarget(DataflowMessageHeader messageHeader, object? target)
    {
        if (!messageHeader.IsValid)
        {
            throw new ArgumentException("The DataflowMessageHeader instance does not represent a valid message header.", nameof(messageHeader));
        }

        ArgumentNullException.ThrowIfNull(target);
    }

    public static InvalidOperationException NotReserved() => new("The target does not have the message reserved.");

    public static InvalidOperationException NotConsumed() => new("The target failed to consume a message it had successfully reserved.");

    /// <summary>Completes or faults a linked target, as its source has done. Throws nothing.</summary>
    public static void Propagate(Task completion, IDataflowBlock target)
    {
        try
        {
            CompleteOrFault(completion, target);
        }
        catch (Exception e)
        {
            // If a target cannot be completed, only the process can learn of it, as with Microsoft's blocks.
            System.Runtime.ExceptionServices.ExceptionDispatchInfo info = System.Runtime.ExceptionServices.ExceptionDispatchInfo.Capture(e);
            ThreadPool.QueueUserWorkItem(static info => info.Throw(), info, preferLocal: false);
        }
    }

    /// <summary>
    /// Completes or faults a target that was linked too late: once the source is complete, or now. Then what the target throws is the caller's.
    /// </summary>
    public static void PropagateOnceComplete(Task completion, IDataflowBlock target)
    {
        if (completion.IsCompleted)
        {
            CompleteOrFault(completion, target);
            return;
        }

        completion.ContinueWith(
            static (task, state) => Propagate(task, (IDataflowBlock)state!),
            target,
            CancellationToken.None,
            TaskContinuationOptions.ExecuteSynchronously | TaskContinuationOptions.DenyChildAttach,
            TaskScheduler.Default);
    }

    private static void CompleteOrFault(Task completion, IDataflowBlock target)
    {
        if (completion.IsFaulted)
        {
            target.Fault(completion.Exception);
        }
        else
        {
            target.Complete();
        }
    }

    /// <summary>Adds the message whose delegate failed to the exception, as text.</summary>
    public static void AddValue<T>(Exception exception, T value)
    {
        try
        {
            exception.Data["DataflowMessageValue"] = value?.ToString();
        }
        catch (Exception)
        {
            // ToString or Data is the user's code and threw: the exception that counts is the first one.
        }
    }

    public static bool IsCancellation(Exception exception) => exception is OperationCanceledException;
}

/// <summary>A block's Completion, whose task is created when somebody asks for it or the block completes.</summary>
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

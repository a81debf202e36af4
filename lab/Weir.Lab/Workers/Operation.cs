namespace Weir.Lab.Workers;

/// <summary>
/// The code that a worker repeats. An operation is created from a delegate of any of the usual shapes. Its result is consumed, so that the compiler cannot
/// remove the work.
/// </summary>
/// <remarks>
/// A synchronous operation gives each worker a thread of its own. An asynchronous one makes each worker a loop on the thread pool that
/// holds no thread while it waits.
/// </remarks>
public abstract class Operation
{
    private protected Operation(bool isAsync) => IsAsync = isAsync;

    /// <summary>Whether the operation is awaited.</summary>
    public bool IsAsync { get; }

    /// <summary>A synchronous operation without a result.</summary>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation Of(Action call) => new ActionOperation(call);

    /// <summary>A synchronous operation with a result.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation Of<T>(Func<T> call) => new FuncOperation<T>(call);

    /// <summary>An asynchronous operation without a result.</summary>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    [OverloadResolutionPriority(1)]
    public static Operation OfAsync(Func<Task> call) => new AsyncOperation<TaskCall>(new TaskCall(call));

    /// <summary>An asynchronous operation without a result.</summary>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation OfAsync(Func<ValueTask> call) => new AsyncOperation<ValueTaskCall>(new ValueTaskCall(call));

    /// <summary>An asynchronous operation with a result.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    [OverloadResolutionPriority(1)]
    public static Operation OfAsync<T>(Func<Task<T>> call) => new AsyncOperation<TaskCall<T>, T>(new TaskCall<T>(call));

    /// <summary>An asynchronous operation with a result.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="call">The operation.</param>
    /// <returns>The operation.</returns>
    public static Operation OfAsync<T>(Func<ValueTask<T>> call) => new AsyncOperation<ValueTaskCall<T>, T>(new ValueTaskCall<T>(call));

    /// <summary>An operation that does nothing, and is called in the same way.</summary>
    internal abstract Operation Empty();

    /// <summary>Runs the worker's loop on this thread until it is told to stop. Synchronous operations only.</summary>
    internal virtual void Loop(WorkerSlot slot) => throw new NotSupportedException("The operation is asynchronous.");

    /// <summary>Runs the worker's loop until it is told to stop. Asynchronous operations only.</summary>
    internal virtual Task LoopAsync(WorkerSlot slot) => throw new NotSupportedException("The operation is synchronous.");
}

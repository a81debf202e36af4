using Weir.Runtimes;

namespace Weir.Delivery;

/// <summary>Creates hosts that write the results of the processor to a sink.</summary>
public static class WorkHost
{
    /// <summary>Creates a host that writes the results to a sink, in the order of delivery, before it acknowledges the items.</summary>
    /// <typeparam name="T">The type of the items' values.</typeparam>
    /// <typeparam name="TResult">The type of the results.</typeparam>
    /// <param name="source">The source of the items. The host uses it exclusively, and does not dispose it.</param>
    /// <param name="runtime">The runtime for the processor. It can be shared. The host does not dispose it.</param>
    /// <param name="processor">Processes an item.</param>
    /// <param name="sink">The sink for the results. The host uses it exclusively, and does not dispose it.</param>
    /// <param name="options">The options.</param>
    /// <returns>A host that has not been started.</returns>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">A value of <paramref name="options"/> is out of range. The exception names the property.</exception>
    /// <remarks>
    /// The sink gets the results of complete batches, with the position of the last one: everything up to it has been processed. A sink that stores both in one
    /// transaction has each effect exactly once, even if a process dies. Items that became dead letters have no result.
    /// </remarks>
    public static WorkHost<T> Create<T, TResult>(
        IWorkSource<T> source,
        IExecutionRuntime runtime,
        Func<WorkItem<T>, CancellationToken, ValueTask<TResult>> processor,
        IWorkSink<TResult> sink,
        WorkHostOptions<T> options)
    {
        ArgumentNullException.ThrowIfNull(sink);
        ArgumentNullException.ThrowIfNull(processor);
        return new WorkHost<T>(source, options, o => new HostRun<T, TResult>(source, runtime, processor, sink, o), runtime);
    }
}

using Weir.Operators;
using Weir.Runtimes;

namespace Weir.Delivery;

/// <summary>
/// Reads batches from a source, runs their items on a runtime, and acknowledges a batch when each of its items has an outcome that survives a crash: it was
/// processed, kept for another attempt, or stored as a dead letter.
/// </summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// <para>
/// Each item is processed at least once. It is processed again if the process dies, or loses its connection, after the effect and before the acknowledgement. A
/// receiver can detect this by the identity of the item. See docs/queues.md.
/// </para>
/// <para>
/// While the server is unavailable, the host repeats its calls until they succeed or the host stops. Only a <see cref="WorkSetupException"/> ends the host.
/// </para>
/// <para>Thread-safe: any thread can abort the host and read its statistics while it runs.</para>
/// </remarks>
public sealed class WorkHost<T>
{
    private readonly IHostRun _run;
    private int _started;

    /// <summary>Creates a host.</summary>
    /// <param name="source">The source of the items. The host uses it exclusively, and does not dispose it.</param>
    /// <param name="runtime">The runtime for the processor: direct, concurrent, parallel or auto. It can be shared. The host does not dispose it.</param>
    /// <param name="processor">
    /// Processes an item. When it returns, the item is done, so its effects must be durable by then. Its token is cancelled when the item exceeds its time
    /// limit, or when the host stops and the grace period ends.
    /// </param>
    /// <param name="options">The options.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">A value of <paramref name="options"/> is out of range. The exception names the property.</exception>
    public WorkHost(
        IWorkSource<T> source, IExecutionRuntime runtime, Func<WorkItem<T>, CancellationToken, ValueTask> processor, WorkHostOptions<T> options)
        : this(source, options, o => new HostRun<T, bool>(source, runtime, TaskCalls.AsSelector<WorkItem<T>, bool>(processor), sink: null, o), runtime)
    {
    }

    internal WorkHost(IWorkSource<T> source, WorkHostOptions<T> options, Func<WorkHostOptions<T>, IHostRun> run, IExecutionRuntime runtime)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(runtime);
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        _run = run(options.For(source));
    }

    /// <summary>Gets a snapshot of what the host has done so far. Thread-safe.</summary>
    public WorkHostStatistics Statistics => _run.Statistics;

    /// <summary>Runs the host until the source ends or the token is cancelled. A host can run only once.</summary>
    /// <param name="cancellationToken">
    /// Stops the host: it stops reading and starting items, waits up to the grace period for running items, and returns items that are not done.
    /// </param>
    /// <returns>
    /// A task that completes when all items that were read are done or returned. It completes without an exception also after
    /// <paramref name="cancellationToken"/> was cancelled.
    /// </returns>
    /// <exception cref="InvalidOperationException">The host has been started already. Thrown at the call.</exception>
    /// <exception cref="WorkSetupException">The source or the sink is not set up, or its setup is wrong.</exception>
    public Task RunAsync(CancellationToken cancellationToken = default)
    {
        if (Interlocked.Exchange(ref _started, 1) != 0)
        {
            throw new InvalidOperationException("The host has been started already. Create another one.");
        }

        return _run.RunAsync(cancellationToken);
    }

    /// <summary>Stops the host without a grace period, or ends the grace period of a host that is stopping. Call it on the second Ctrl-C.</summary>
    /// <remarks>Returns at once. The task of <see cref="RunAsync"/> completes when the running items have ended and the rest has been returned.</remarks>
    public void Abort() => _run.Abort();
}

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

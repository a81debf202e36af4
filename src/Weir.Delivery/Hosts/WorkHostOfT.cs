using Weir.Runtimes;

namespace Weir.Delivery;

/// <summary>
/// Reads batches from a source, runs their items on a runtime, and acknowledges a batch when each of its items has an outcome that survives a crash: it was
/// processed, kept for another attempt, or stored as a dead letter.
/// </summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// <para>Each item is processed at least once. It is processed again if the process dies, or loses its connection, after the effect and before the
/// acknowledgement; the identity of the item tells a receiver. See docs/delivery.md.</para>
/// <para>
/// When the server is away, the host repeats its calls until it is back, or until the host stops. Only a <see cref="WorkSetupException"/> ends it.
/// </para>
/// </remarks>
public sealed class WorkHost<T>
{
    private readonly IHostRun _run;
    private int _started;

    /// <summary>Creates a host.</summary>
    /// <param name="source">Where the items come from. The host has it alone, and does not dispose it.</param>
    /// <param name="runtime">What runs the processor: direct, concurrent, parallel or auto. It can be shared, and is not disposed.</param>
    /// <param name="processor">
    /// The call for an item. When it returns, the item is done: its effects must be durable by then. Its token is cancelled when the item's time is up, or when
    /// the host has stopped and the grace period is over.
    /// </param>
    /// <param name="options">The options.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">A value of <paramref name="options"/> is out of range. The exception names the property.</exception>
    public WorkHost(
        IWorkSource<T> source, IExecutionRuntime runtime, Func<WorkItem<T>, CancellationToken, ValueTask> processor, WorkHostOptions<T> options)
        : this(source, options, o => new HostRun<T, bool>(source, runtime, WithoutResult(processor), sink: null, o), runtime) =>
        ArgumentNullException.ThrowIfNull(processor);

    internal WorkHost(IWorkSource<T> source, WorkHostOptions<T> options, Func<WorkHostOptions<T>, IHostRun> run, IExecutionRuntime runtime)
    {
        ArgumentNullException.ThrowIfNull(source);
        ArgumentNullException.ThrowIfNull(runtime);
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        _run = run(options);
    }

    /// <summary>What the host has done so far. A snapshot, which any thread can take at any time.</summary>
    public WorkHostStatistics Statistics => _run.Statistics;

    /// <summary>Runs until the source ends or the token is cancelled. Once only.</summary>
    /// <param name="cancellationToken">
    /// Stops the host: it reads no more, begins no more items, gives the running ones the grace period, and gives back what is not done.
    /// </param>
    /// <returns>
    /// A task that completes, without an exception, when all that was read is done or has been given back: also after <paramref name="cancellationToken"/> was
    /// cancelled.
    /// </returns>
    /// <exception cref="InvalidOperationException">The host has been started already. Thrown at the call.</exception>
    /// <exception cref="WorkSetupException">The source or the sink is not set up, or not as it has to be.</exception>
    public Task RunAsync(CancellationToken cancellationToken = default)
    {
        if (Interlocked.Exchange(ref _started, 1) != 0)
        {
            throw new InvalidOperationException("The host has been started already. Create another one.");
        }

        return _run.RunAsync(cancellationToken);
    }

    /// <summary>Ends the grace period of a host that stops, as the second Ctrl-C does; and stops one that runs, without a grace period.</summary>
    /// <remarks>Returns at once. The task of <see cref="RunAsync"/> completes when the running items have ended and all has been given back.</remarks>
    public void Abort() => _run.Abort();

    private static Func<WorkItem<T>, CancellationToken, ValueTask<bool>> WithoutResult(Func<WorkItem<T>, CancellationToken, ValueTask> processor) =>
        (item, token) =>
        {
            ValueTask call = processor(item, token);
            if (!call.IsCompletedSuccessfully)
            {
                return AwaitAsync(call);
            }

            call.GetAwaiter().GetResult();
            return new ValueTask<bool>(true);
        };

    private static async ValueTask<bool> AwaitAsync(ValueTask call)
    {
        await call.ConfigureAwait(false);
        return true;
    }
}

namespace Weir.Hosting;

/// <summary>The options of a worker. They are read once, when the host starts; a value out of range ends the start with one sentence.</summary>
/// <remarks>
/// Set them in code, or in the configuration section <c>Weir:Workers:NAME</c>, which wins. Keys of the section that are no option are refused. Not
/// thread-safe: set them before the host starts.
/// </remarks>
public sealed class WeirWorkerOptions
{
    /// <summary>The runtime for the processor.</summary>
    /// <value>The default is <see cref="WorkerRuntime.Concurrent"/>.</value>
    public WorkerRuntime Runtime { get; set; }

    /// <summary>The number of items that may be processed at once.</summary>
    /// <value>
    /// At least 1. <see langword="null"/>, the default, for 16 on <see cref="WorkerRuntime.Concurrent"/>, one for each processor on
    /// <see cref="WorkerRuntime.Parallel"/>, and what the runtime decides on <see cref="WorkerRuntime.Auto"/>. <see cref="WorkerRuntime.Direct"/> has one.
    /// </value>
    public int? MaxConcurrency { get; set; }

    /// <summary>Processes items with the same key one at a time, in the order of delivery. See <see cref="WorkHostOptions{T}.PartitionBy"/>.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool KeepKeyOrder { get; set; }

    /// <summary>The number of immediate retries of a failed item, with delays that grow from 100 ms, before it counts as failed.</summary>
    /// <value>Zero or more. The default is 0.</value>
    public int MaxRetries { get; set; }

    /// <inheritdoc cref="WorkHostOptions{T}.PerItemTimeout"/>
    public TimeSpan? PerItemTimeout { get; set; }

    /// <inheritdoc cref="WorkHostOptions{T}.MaxAttempts"/>
    public int MaxAttempts { get; set; } = 5;

    /// <inheritdoc cref="WorkHostOptions{T}.RedeliveryDelays"/>
    /// <remarks>In the configuration: an array, or one text with commas.</remarks>
    public IReadOnlyList<TimeSpan> RedeliveryDelays { get; set; } = [TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(60)];

    /// <inheritdoc cref="WorkHostOptions{T}.IsTransient"/>
    /// <remarks>Only in code.</remarks>
    public Func<Exception, bool>? IsTransient { get; set; }

    /// <inheritdoc cref="WorkHostOptions{T}.MaxItemsInFlight"/>
    public int MaxItemsInFlight { get; set; } = 4096;

    /// <inheritdoc cref="WorkHostOptions{T}.MaxItemsPerCall"/>
    public int MaxItemsPerCall { get; set; } = 256;

    /// <inheritdoc cref="WorkHostOptions{T}.MaxConcurrentCalls"/>
    public int? MaxConcurrentCalls { get; set; }

    /// <inheritdoc cref="WorkHostOptions{T}.MaxCrashes"/>
    public int MaxCrashes { get; set; } = 2;

    /// <inheritdoc cref="WorkHostOptions{T}.Acknowledge"/>
    public AcknowledgePoint Acknowledge { get; set; }

    /// <summary>The time that running items have to finish when the host stops. After that, their tokens are cancelled and they are returned.</summary>
    /// <value>
    /// Zero or more, and less than the host's <c>ShutdownTimeout</c>, so that there is time to return items. <see langword="null"/>, the default, for three
    /// quarters of the <c>ShutdownTimeout</c>.
    /// </value>
    public TimeSpan? GracePeriod { get; set; }

    /// <summary>Sets up the queue when the host starts: creates what does not exist yet. Its user needs the rights for that.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool SetupAtStart { get; set; }

    /// <summary>Stops the application when the source has ended and all its items are done: for jobs. Most sources never end.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool StopAtEnd { get; set; }

    /// <summary>Ends the grace period at the second Ctrl-C or SIGTERM.</summary>
    /// <value>The default is <see langword="true"/>.</value>
    public bool AbortAtSecondSignal { get; set; } = true;

    /// <summary>The age of the oldest batch that is read but not acknowledged, at which the health check for lag is no longer healthy.</summary>
    /// <value>More than zero. The default is 5 minutes.</value>
    public TimeSpan MaxLag { get; set; } = TimeSpan.FromMinutes(5);
}

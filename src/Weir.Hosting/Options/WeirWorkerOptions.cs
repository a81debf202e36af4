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

    /// <summary>What the worker does, such as <c>orders.enter</c>, in the metrics, spans and log lines of its runtime's calls.</summary>
    /// <value>Any text but an empty one. <see langword="null"/>, the default, for the name of the worker.</value>
    /// <remarks>See <see cref="ParallelRunOptions.OperationName"/>.</remarks>
    public string? OperationName { get; set; }

    /// <summary>Your own tags for the metrics and spans of the runtime's calls, and the scope of their log lines.</summary>
    /// <value><see langword="null"/>, the default, for none. Keys must not be empty.</value>
    /// <remarks>In the configuration: a section of keys and texts, which adds to those of code.</remarks>
    public IReadOnlyList<KeyValuePair<string, object?>>? Tags { get; set; }

    /// <summary>The policies around each item, which all calls of the worker's runtime share: a circuit breaker, a rate limit, retries and so on.</summary>
    /// <value>
    /// <see langword="null"/>, the default, for none. What depends on the type of the runtime's items must be null: keyed policies, <c>Hooks</c>,
    /// <c>ShouldRetry</c> and <c>OnFallback</c>; so must <c>AdaptiveConcurrency</c> and <c>Control</c>. Its <c>MaxRetries</c> is not together with
    /// <see cref="MaxRetries"/>. The clock is the worker's.
    /// </value>
    /// <remarks>
    /// In the configuration: a section <c>Policies</c> with <c>MaxRetries</c>, <c>BaseDelay</c>, <c>MaxDelay</c>, <c>BackoffStrategy</c>,
    /// <c>AttemptTimeout</c>, <c>OpenCircuitMode</c> and the sections <c>CircuitBreaker</c> and <c>RateLimit</c>. It changes what code has set. A
    /// <c>ConcurrencyLimit</c>, only in code, is the limit over all calls of the worker, in place of the one that <see cref="MaxConcurrency"/> makes.
    /// </remarks>
    public ParallelRunOptions? Policies { get; set; }

    /// <summary>Processes items with the same key one at a time, in the order of delivery. See <see cref="WorkHostOptions{T}.PartitionBy"/>.</summary>
    /// <value>The default is <see langword="false"/>.</value>
    public bool KeepKeyOrder { get; set; }

    /// <summary>The number of immediate retries of a failed item, with delays that grow from 100 ms, before it counts as failed.</summary>
    /// <value>Zero or more. The default is 0.</value>
    public int MaxRetries { get; set; }

    /// <inheritdoc cref="WorkHostOptions{T}.PerItemTimeout"/>
    public TimeSpan? PerItemTimeout { get; set; }

    /// <inheritdoc cref="WorkHostOptions{T}.MaxAttempts"/>
    public int MaxAttempts { get; set; } = DefaultAttempts.Count;

    /// <inheritdoc cref="WorkHostOptions{T}.RedeliveryDelays"/>
    /// <remarks>In the configuration: an array, or one text with commas.</remarks>
    public IReadOnlyList<TimeSpan> RedeliveryDelays { get; set; } = DefaultAttempts.Delays;

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

/// <summary>The runtime that a worker processes its items on. See docs/runtimes.md.</summary>
public enum WorkerRuntime
{
    /// <summary>Many items in flight on a few pool threads: for items that wait.</summary>
    Concurrent,

    /// <summary>Threads of its own: for items that compute.</summary>
    Parallel,

    /// <summary>Measures the items and decides.</summary>
    Auto,

    /// <summary>One item after the other.</summary>
    Direct,
}

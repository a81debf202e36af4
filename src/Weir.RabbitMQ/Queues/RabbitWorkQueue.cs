using RabbitMQ.Client;

namespace Weir.RabbitMQ;

/// <summary>
/// A queue in RabbitMQ: several items travel in a message, publishing waits for the broker's confirm, and workers that compete, or that each have partitions,
/// acknowledge what is durably done.
/// </summary>
/// <typeparam name="T">The type of the items' values.</typeparam>
/// <remarks>
/// Thread-safe. Durable as the broker is: all queues are quorum queues. The object has one connection that publishes, and one that counts once
/// <see cref="GetStatisticsAsync"/> was called; each source has one that consumes. Neither messages of exceptions nor names contain credentials.
/// </remarks>
public sealed class RabbitWorkQueue<T> : IWorkQueue<T>
{
    private readonly Lock _lock = new();
    private readonly HashSet<RabbitWorkSource<T>> _sources = [];
    private bool _isDisposed;

    /// <summary>Creates an object for a queue. It asks nothing of the broker.</summary>
    /// <param name="broker">Where the broker is, with user and password: <c>amqp://user:password@host:5672/vhost</c>, or <c>amqps</c> for TLS.</param>
    /// <param name="name">
    /// The name of the queue. Its exchange has the same name, and its other queues begin with it. At most 120 bytes of UTF-8, not beginning with <c>amq.</c>.
    /// </param>
    /// <param name="serializer">Turns values into bytes and back.</param>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">
    /// <paramref name="broker"/> is not such an address, the name is empty or too long, or a value of <paramref name="options"/> is out of range.
    /// </exception>
    public RabbitWorkQueue(Uri broker, string name, IWorkSerializer<T> serializer, RabbitWorkQueueOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(broker);
        ArgumentNullException.ThrowIfNull(serializer);
        if (!broker.IsAbsoluteUri || broker.Scheme is not ("amqp" or "amqps"))
        {
            // The address itself may have a password in it.
            throw new ArgumentException("broker must be an absolute address that begins with amqp:// or amqps://.", nameof(broker));
        }

        // The client says the same with the password in it.
        if (broker.UserInfo.Split(':').Length > 2 || broker.Segments.Length > 2)
        {
            throw new ArgumentException(
                "broker must be an address such as amqp://user:password@host:5672/vhost, with what is special in a name or a password percent-encoded.",
                nameof(broker));
        }

        Options = options ?? new RabbitWorkQueueOptions();
        Options.Validate();
        Names = new QueueNames(name, Options);
        Name = name;
        Serializer = serializer;
        Broker = new Broker(broker, $"the queue '{name}'", Options.ConfigureConnection);
        Topology = new Topology(Broker, Names, Options);
        Publisher = new Publisher(Broker, Names.Exchange, Options);
        Counting = new CountingLink(Broker, Topology);
        DeadLetters = new RabbitDeadLetters(Broker, Publisher, Names, Options);
    }

    /// <inheritdoc/>
    public string Name { get; }

    /// <inheritdoc/>
    public IWorkSerializer<T> Serializer { get; }

    /// <inheritdoc/>
    /// <remarks>
    /// In a queue of their own, where they stay until somebody removes or replays them: their number has no bound. Each call but adding looks through all of
    /// them, and only one such call runs at a time, in all processes.
    /// </remarks>
    public IDeadLetters DeadLetters { get; }

    string IWorkStatistics.MessagingSystem => "rabbitmq";

    internal RabbitWorkQueueOptions Options { get; }

    internal QueueNames Names { get; }

    internal Broker Broker { get; }

    internal Topology Topology { get; }

    internal Publisher Publisher { get; }

    internal CountingLink Counting { get; }

    /// <inheritdoc/>
    /// <remarks>The user has to be allowed to configure, read and write what begins with the name.</remarks>
    public Task SetupAsync(CancellationToken cancellationToken = default) => Topology.SetupAsync(cancellationToken);

    /// <inheritdoc/>
    /// <remarks>
    /// The sink may be called by several threads at once. A call publishes again, with the same message identities, what was not confirmed when a connection
    /// was lost. It ends with a <see cref="RabbitRefusedException"/> if the broker refuses messages. It is not atomic: some items may be published then. A list
    /// that needs more messages than <see cref="RabbitWorkQueueOptions.ConfirmWindow"/> may be published in part, too, when it has an item that is too long.
    /// </remarks>
    public async ValueTask<IWorkSink<T>> OpenSinkAsync(CancellationToken cancellationToken = default)
    {
        await Publisher.UseAsync(connection => Topology.CheckAsync(connection, cancellationToken), cancellationToken).ConfigureAwait(false);
        return new RabbitWorkSink<T>(this);
    }

    /// <inheritdoc/>
    public async ValueTask<IWorkSource<T>> OpenSourceAsync(CancellationToken cancellationToken = default)
    {
        var source = new RabbitWorkSource<T>(Name, Serializer, Options, Names, Broker, Topology, Publisher, Forget);
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            _sources.Add(source);
        }

        try
        {
            await source.StartAsync(cancellationToken).ConfigureAwait(false);
            return source;
        }
        catch
        {
            await source.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    /// <summary>Asks the broker how many messages wait in the queues, on a connection that is kept for it.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// Messages that wait, also for their next attempt, and dead letters. In AMQP, the broker says neither how many items these have, nor how old they are, nor
    /// how many consumers have and did not acknowledge.
    /// </returns>
    /// <remarks>
    /// The queues are asked one after the other. A message that no worker could read counts as one dead letter. While somebody looks through the dead letters,
    /// they are fewer, because looking takes them.
    /// </remarks>
    /// <exception cref="WorkSetupException">The queue is not set up, or the broker refuses the connection.</exception>
    /// <exception cref="TimeoutException">The broker does not answer in time.</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    public ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default) => Counting.CountAsync(cancellationToken);

    /// <summary>Ends all sources, and the connection that publishes. Calls that wait for confirms fail.</summary>
    /// <returns>A task that completes when the connections are closed.</returns>
    public async ValueTask DisposeAsync()
    {
        RabbitWorkSource<T>[] sources;
        lock (_lock)
        {
            _isDisposed = true;
            sources = [.. _sources];
        }

        // Together, and then the rest, which sources use to give back: each waits for a broker that does not answer.
        await Task.WhenAll(sources.Select(static source => source.DisposeAsync().AsTask())).ConfigureAwait(false);
        await Task.WhenAll(Counting.DisposeAsync().AsTask(), Publisher.DisposeAsync().AsTask()).ConfigureAwait(false);
    }

    internal async ValueTask PublishAsync(IReadOnlyList<WorkItem<T>> items, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(items);
        IEnumerable<Outgoing> messages = new ItemMessages<T>(Serializer, Options, Publisher.Buffers).Split(
            items, item => Names.PartitionOf(item.Key, item.Id), MessageTrace.Current(), isNew: true);
        await Publisher.PublishAsync(messages, cancellationToken).ConfigureAwait(false);
    }

    private void Forget(RabbitWorkSource<T> source)
    {
        lock (_lock)
        {
            _sources.Remove(source);
        }
    }
}

/// <summary>A publishing end of a queue. All of them share the connection of the queue object, and may be called at the same time.</summary>
internal sealed class RabbitWorkSink<T>(RabbitWorkQueue<T> queue) : IWorkSink<T>
{
    public ValueTask WriteAsync(IReadOnlyList<WorkItem<T>> items, string? position, CancellationToken cancellationToken) =>
        queue.PublishAsync(items, cancellationToken);

    public ValueTask DisposeAsync() => default;
}

/// <summary>
/// A connection to count messages with. It is opened at the first call and stays open. It is not the one that publishes, because a broker that has no memory or
/// disk left stops listening to those.
/// </summary>
internal sealed class CountingLink(Broker broker, Topology topology) : IAsyncDisposable
{
    private readonly SemaphoreSlim _counting = new(1, 1);
    private readonly CancellationTokenSource _stop = new();

    // Under the semaphore, and in tests.
    private IConnection? _connection;

    /// <summary>How many connections were opened, for tests.</summary>
    public int Opened { get; private set; }

    public async ValueTask<WorkStatistics> CountAsync(CancellationToken cancellationToken)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _stop.Token);
        try
        {
            await _counting.WaitAsync(either.Token).ConfigureAwait(false);
            try
            {
                return await CountAloneAsync(either.Token).ConfigureAwait(false);
            }
            finally
            {
                _counting.Release();
            }
        }
        catch (OperationCanceledException)
        {
            cancellationToken.ThrowIfCancellationRequested();
            ObjectDisposedException.ThrowIf(_stop.IsCancellationRequested, "RabbitWorkQueue");
            throw;
        }
    }

    /// <summary>Loses the connection, for tests.</summary>
    public ValueTask CutAsync() => Broker.CloseAsync(_connection);

    /// <summary>Ends a count that is under way, and closes the connection.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        await _counting.WaitAsync().ConfigureAwait(false);
        try
        {
            await CloseAloneAsync().ConfigureAwait(false);
        }
        finally
        {
            _counting.Release();
        }
    }

    private async ValueTask<WorkStatistics> CountAloneAsync(CancellationToken cancellationToken)
    {
        try
        {
            if (_connection is not { IsOpen: true })
            {
                await CloseAloneAsync().ConfigureAwait(false);
                _connection = await broker.ConnectAsync("statistics", cancellationToken).ConfigureAwait(false);
                Opened++;
            }

            // The client waits for an answer although its token is cancelled.
            return await topology.CountAsync(_connection, cancellationToken).AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is OperationCanceledException or TimeoutException)
        {
            // A connection on which nothing comes back may never say that it is lost.
            await CloseAloneAsync().ConfigureAwait(false);
            throw;
        }
    }

    private async ValueTask CloseAloneAsync()
    {
        IConnection? connection = _connection;
        _connection = null;
        await Broker.CloseAsync(connection).ConfigureAwait(false);
    }
}

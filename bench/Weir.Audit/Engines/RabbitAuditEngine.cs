using RabbitMQ.Client;
using Weir.RabbitMQ;

namespace Weir.Audit.Engines;

/// <summary>The queue in RabbitMQ: changes are published before the transaction that records them commits, and again if it fails.</summary>
internal sealed class RabbitAuditEngine : IAuditEngine
{
    private const int Partitions = 4;
    private const int ItemsPerMessage = 4;

    private static readonly TimeSpan Heartbeat = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan Retry = TimeSpan.FromMilliseconds(100);

    private readonly Uri _broker;
    private readonly RabbitWorkQueueOptions _options;
    private readonly RabbitWorkQueue<string> _queue;
    private readonly string[] _work;
    private readonly string[] _others;
    private IWorkSink<string>? _sink;

    public RabbitAuditEngine(Uri broker, string name, AuditScenario scenario, SeededFault fault)
    {
        _broker = broker;
        int partitions = scenario.Keys == 0 || fault == SeededFault.NoKeyOrder ? 0 : Partitions;
        RabbitWorkQueueOptions users = new() { Partitions = partitions };
        _options = scenario.HasDefaults ? users : users with
        {
            MaxItemsPerMessage = ItemsPerMessage,
            RetryDelays = [Retry],
            ConfigureConnection = static factory => factory.RequestedHeartbeat = Heartbeat,
        };
        _queue = new RabbitWorkQueue<string>(broker, name, WorkSerializer.Text, _options);
        _work = partitions == 0
            ? [name]
            : [.. Enumerable.Range(0, partitions).Select(i => string.Create(CultureInfo.InvariantCulture, $"{name}.{i}"))];
        _others = partitions == 0 ? [$"{name}.suspects", .. _options.RetryDelays.Select(d => Invariant($"{name}.retry.{d.TotalMilliseconds}"))] : [];
    }

    public IWorkQueue<string> Queue => _queue;

    public TimeSpan? Lease => null;

    private string Dead => $"{_queue.Name}.dead";

    public async ValueTask PublishAsync(NpgsqlTransaction transaction, IReadOnlyList<WorkItem<string>> items, CancellationToken cancellationToken)
    {
        try
        {
            _sink ??= await _queue.OpenSinkAsync(cancellationToken);
            await _sink.WriteAsync(items, null, cancellationToken);
        }
        catch (Exception e) when (e is not (OperationCanceledException or WorkSetupException or OutOfMemoryException))
        {
            throw new IOException("RabbitMQ did not take the changes.", e);
        }

        await transaction.CommitAsync(cancellationToken);
    }

    /// <remarks>RabbitMQ does not tell of messages that a consumer has: they wait again when it has stopped.</remarks>
    public bool CountsWhatIsHeld => false;

    public ValueTask<long> CountWaitingAsync(CancellationToken cancellationToken) => AskAsync(
        async channel =>
        {
            long waiting = 0;
            foreach (string queue in (string[])[.. _work, .. _others])
            {
                waiting += (await channel.QueueDeclarePassiveAsync(queue, cancellationToken)).MessageCount;
            }

            return waiting;
        },
        cancellationToken);

    public ValueTask<long> CountDeadLettersAsync(CancellationToken cancellationToken) => AskAsync<long>(
        async channel => (await channel.QueueDeclarePassiveAsync(Dead, cancellationToken)).MessageCount, cancellationToken);

    public ValueTask<IReadOnlyList<string>> FindLeftoversAsync(int workers, CancellationToken cancellationToken) => AskAsync<IReadOnlyList<string>>(
        async channel =>
        {
            List<string> left = [];
            foreach (string queue in _work)
            {
                uint consumers = (await channel.QueueDeclarePassiveAsync(queue, cancellationToken)).ConsumerCount;
                if (consumers > workers)
                {
                    left.Add(string.Create(CultureInfo.InvariantCulture, $"{consumers} consumers of {workers} workers"));
                }
            }

            return left;
        },
        cancellationToken);

    public async ValueTask DropAsync(CancellationToken cancellationToken) => await AskAsync(
        async channel =>
        {
            await RabbitEngine.DropAsync(channel, _queue.Name, _options, cancellationToken);
            return true;
        },
        cancellationToken);

    public ValueTask DisposeAsync() => _queue.DisposeAsync();

    /// <summary>Asks the broker, and repeats that while it is away.</summary>
    private async ValueTask<T> AskAsync<T>(Func<IChannel, Task<T>> ask, CancellationToken cancellationToken)
    {
        while (true)
        {
            try
            {
                await using IConnection connection = await new ConnectionFactory { Uri = _broker, AutomaticRecoveryEnabled = false }
                    .CreateConnectionAsync(cancellationToken);
                await using IChannel channel = await connection.CreateChannelAsync(cancellationToken: cancellationToken);
                return await ask(channel);
            }
            catch (Exception e) when (e is not OutOfMemoryException && !cancellationToken.IsCancellationRequested)
            {
                await Task.Delay(Pause, cancellationToken);
            }
        }
    }
}

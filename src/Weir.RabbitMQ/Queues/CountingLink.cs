using RabbitMQ.Client;

namespace Weir.RabbitMQ;

/// <summary>
/// A connection to count messages with. It is opened at the first call and kept, and is not the one that publishes: when a broker has no memory or disk left,
/// it stops listening to those.
/// </summary>
internal sealed class CountingLink(Broker broker, Topology topology) : IAsyncDisposable
{
    private readonly SemaphoreSlim _turn = new(1, 1);
    private IConnection? _connection;
    private bool _isDisposed;

    /// <summary>How many connections were opened, for tests.</summary>
    public int Opened { get; private set; }

    public async ValueTask<WorkStatistics> CountAsync(CancellationToken cancellationToken)
    {
        await _turn.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            ObjectDisposedException.ThrowIf(_isDisposed, "RabbitWorkQueue");
            if (_connection is not { IsOpen: true })
            {
                await Broker.CloseAsync(_connection).ConfigureAwait(false);
                _connection = null;
                _connection = await broker.ConnectAsync("statistics", cancellationToken).ConfigureAwait(false);
                Opened++;
            }

            return await topology.CountAsync(_connection, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is OperationCanceledException or TimeoutException)
        {
            // A connection on which nothing comes back may never say that it is lost.
            await Broker.CloseAsync(_connection).ConfigureAwait(false);
            _connection = null;
            throw;
        }
        finally
        {
            _turn.Release();
        }
    }

    /// <summary>Loses the connection, for tests.</summary>
    public ValueTask CutAsync() => Broker.CloseAsync(_connection);

    public async ValueTask DisposeAsync()
    {
        await _turn.WaitAsync().ConfigureAwait(false);
        try
        {
            _isDisposed = true;
            await Broker.CloseAsync(_connection).ConfigureAwait(false);
            _connection = null;
        }
        finally
        {
            _turn.Release();
        }
    }
}

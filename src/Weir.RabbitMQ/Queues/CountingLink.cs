using RabbitMQ.Client;

namespace Weir.RabbitMQ;

/// <summary>
/// A connection to count messages with. It is opened at the first call and kept, and is not the one that publishes: when a broker has no memory or disk left,
/// it stops listening to those.
/// </summary>
internal sealed class CountingLink(Broker broker, Topology topology) : IAsyncDisposable
{
    private readonly SemaphoreSlim _turn = new(1, 1);
    private readonly CancellationTokenSource _stop = new();
    private IConnection? _connection;

    /// <summary>How many connections were opened, for tests.</summary>
    public int Opened { get; private set; }

    public async ValueTask<WorkStatistics> CountAsync(CancellationToken cancellationToken)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _stop.Token);
        try
        {
            await _turn.WaitAsync(either.Token).ConfigureAwait(false);
            try
            {
                return await CountNeedsTurnAsync(either.Token).ConfigureAwait(false);
            }
            finally
            {
                _turn.Release();
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
        await _turn.WaitAsync().ConfigureAwait(false);
        try
        {
            await CloseNeedsTurnAsync().ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    private async ValueTask<WorkStatistics> CountNeedsTurnAsync(CancellationToken cancellationToken)
    {
        try
        {
            if (_connection is not { IsOpen: true })
            {
                await CloseNeedsTurnAsync().ConfigureAwait(false);
                _connection = await broker.ConnectAsync("statistics", cancellationToken).ConfigureAwait(false);
                Opened++;
            }

            // The client waits for an answer although its token is cancelled.
            return await topology.CountAsync(_connection, cancellationToken).AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is OperationCanceledException or TimeoutException)
        {
            // A connection on which nothing comes back may never say that it is lost.
            await CloseNeedsTurnAsync().ConfigureAwait(false);
            throw;
        }
    }

    private async ValueTask CloseNeedsTurnAsync()
    {
        IConnection? connection = _connection;
        _connection = null;
        await Broker.CloseAsync(connection).ConfigureAwait(false);
    }
}

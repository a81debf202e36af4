using System.Buffers;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;
using Weir.Resilience;

namespace Weir.RabbitMQ;

/// <summary>
/// Publishes messages on one connection, in order, with a bounded number of them unconfirmed. Messages whose connection is lost are published again, with the
/// same identities and before all others.
/// </summary>
internal sealed class Publisher(Broker broker, string exchange, RabbitWorkQueueOptions options) : IAsyncDisposable
{
    private const int MaxLosses = 20;
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(2);

    private readonly MessageBuffers _buffers = new(options);
    private readonly SemaphoreSlim _window = new(options.ConfirmWindow);
    private readonly SemaphoreSlim _turn = new(1, 1);
    private readonly CancellationTokenSource _stop = new();
    private readonly Lock _lock = new();
    private List<Outgoing> _lost = [];
    private PublishLink? _link;
    private bool _isDisposed;

    /// <summary>Where the bytes of messages come from, for one call or message at a time.</summary>
    public ArrayPool<byte> Buffers => _buffers.Pool;

    /// <summary>How many messages wait to be published again, for tests.</summary>
    internal int Lost
    {
        get
        {
            lock (_lock)
            {
                return _lost.Count;
            }
        }
    }

    /// <summary>Opens the connection, and uses it for something other than publishing.</summary>
    public async ValueTask UseAsync(Func<IConnection, ValueTask> use, CancellationToken cancellationToken)
    {
        await _turn.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            PublishLink link = await LinkNeedsTurnAsync(cancellationToken).ConfigureAwait(false);
            await use(link.Connection).ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    /// <summary>Sends a message, when there is room. The call gets the outcome, even if this throws because the caller no longer waits.</summary>
    public async ValueTask SendAsync(Outgoing message, PublishCall call, CancellationToken cancellationToken)
    {
        await _window.WaitAsync(cancellationToken).ConfigureAwait(false);
        message.Call = call;
        call.Begin();
        ValueTask sending = SendInTurnAsync(message, cancellationToken);
        if (sending.IsCompletedSuccessfully)
        {
            await sending.ConfigureAwait(false);
            return;
        }

        await sending.AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Publishes messages and waits for their confirms.</summary>
    public async ValueTask PublishAsync(IEnumerable<Outgoing> messages, CancellationToken cancellationToken)
    {
        var call = new PublishCall();
        foreach (Outgoing message in messages)
        {
            await SendAsync(message, call, cancellationToken).ConfigureAwait(false);
        }

        await call.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    public async ValueTask DisposeAsync()
    {
        lock (_lock)
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
        }

        await _stop.CancelAsync().ConfigureAwait(false);
        PublishLink? link;
        lock (_lock)
        {
            link = _link;
        }

        if (link is not null)
        {
            await link.CloseAsync().ConfigureAwait(false);
        }

        FailLost(new ObjectDisposedException("RabbitWorkQueue"));
    }

    private async ValueTask SendInTurnAsync(Outgoing message, CancellationToken cancellationToken)
    {
        bool hasTurn = false;
        try
        {
            await _turn.WaitAsync(cancellationToken).ConfigureAwait(false);
            hasTurn = true;
            while (true)
            {
                PublishLink link = await LinkNeedsTurnAsync(cancellationToken).ConfigureAwait(false);
                if (await link.SendAsync(exchange, message).ConfigureAwait(false))
                {
                    return;
                }
            }
        }
        catch (Exception e)
        {
            message.Call!.Fail(e);
            _window.Release();
            throw;
        }
        finally
        {
            if (hasTurn)
            {
                _turn.Release();
            }
        }
    }

    /// <summary>The link, after everything that was lost with the one before has been sent on it.</summary>
    private async ValueTask<PublishLink> LinkNeedsTurnAsync(CancellationToken cancellationToken)
    {
        PublishLink? link;
        List<Outgoing> lost;
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            link = _link;
            lost = _lost;
        }

        return link is { IsOpen: true } && lost.Count == 0 ? link : await ReconnectAsync(cancellationToken).ConfigureAwait(false);
    }

    private async ValueTask<PublishLink> ReconnectAsync(CancellationToken cancellationToken)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _stop.Token);
        long begin = options.TimeProvider.GetTimestamp();
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                PublishLink link = await OpenAsync(either.Token).ConfigureAwait(false);
                if (await SendLostAsync(link).ConfigureAwait(false))
                {
                    return link;
                }
            }
            catch (Exception e) when (e is not OutOfMemoryException && !either.IsCancellationRequested)
            {
                if (e is WorkSetupException || options.TimeProvider.GetElapsedTime(begin) >= options.ReconnectTimeout)
                {
                    FailLost(e);
                    throw;
                }
            }

            TimeSpan pause = Backoff.GetDelay(
                BackoffStrategy.ExponentialJitter, FirstPause, LongestPause, attempt, TimeSpan.Zero, SeededRandom.Shared.NextDouble);
            await Task.Delay(TimerDelay.RoundUp(pause), options.TimeProvider, either.Token).ConfigureAwait(false);
        }
    }

    private async ValueTask<PublishLink> OpenAsync(CancellationToken cancellationToken)
    {
        PublishLink? open;
        lock (_lock)
        {
            open = _link;
        }

        // Not under the lock: a link that closes has its own, and then takes this one.
        if (open is { IsOpen: true })
        {
            return open;
        }

        PublishLink link = await PublishLink.OpenAsync(broker, OnSettled, OnLost, options.Notice, cancellationToken).ConfigureAwait(false);
        lock (_lock)
        {
            if (!_isDisposed)
            {
                _link = link;
                return link;
            }
        }

        await link.CloseAsync().ConfigureAwait(false);
        throw new ObjectDisposedException("RabbitWorkQueue");
    }

    /// <returns>Whether all was sent; otherwise the link is lost again.</returns>
    private async ValueTask<bool> SendLostAsync(PublishLink link)
    {
        while (true)
        {
            List<Outgoing> lost;
            lock (_lock)
            {
                lost = _lost;
                _lost = [];
            }

            if (lost.Count == 0)
            {
                return link.IsOpen;
            }

            for (int i = 0; i < lost.Count; i++)
            {
                if (!await link.SendAsync(exchange, lost[i]).ConfigureAwait(false))
                {
                    bool isDisposed;
                    lock (_lock)
                    {
                        // What was sent on the link before is lost with it, and is sent again first.
                        _lost.AddRange(lost[i..]);
                        isDisposed = _isDisposed;
                    }

                    if (isDisposed)
                    {
                        // Whoever disposed of this has not seen them.
                        FailLost(new ObjectDisposedException("RabbitWorkQueue"));
                    }

                    return false;
                }
            }
        }
    }

    // Called under the lock of the link. Otherwise another link could be opened before the lost messages are here, and send later ones first.
    private void OnLost(IReadOnlyList<Outgoing> messages, ShutdownEventArgs? reason)
    {
        string? explanation = reason is null ? null : broker.Explain(reason);
        List<Outgoing> again = [];
        foreach (Outgoing message in messages)
        {
            message.Losses++;
            if (explanation is null && message.Losses < MaxLosses)
            {
                again.Add(message);
                continue;
            }

            message.Call!.Fail(explanation is not null
                ? new WorkSetupException(explanation)
                : new IOException($"The connection was lost {MaxLosses} times with message {message.MessageId}: {reason?.ReplyText}"));
            _window.Release();
        }

        bool isDisposed;
        lock (_lock)
        {
            isDisposed = _isDisposed;
            _lost.InsertRange(0, again);
        }

        if (again.Count > 0 && !isDisposed)
        {
            // Takes the turn, so that no other call is about to publish.
            _ = Task.Run(RecoverAsync);
        }
    }

    private async Task RecoverAsync()
    {
        try
        {
            await UseAsync(static _ => default, _stop.Token).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // Nobody else cancels this.
            FailLost(e is OperationCanceledException ? new ObjectDisposedException("RabbitWorkQueue") : e);
        }
    }

    private void FailLost(Exception failure)
    {
        List<Outgoing> lost;
        lock (_lock)
        {
            lost = _lost;
            _lost = [];
        }

        foreach (Outgoing message in lost)
        {
            message.Call!.Fail(failure);
            _window.Release();
        }
    }

    // Only what was confirmed has certainly been read: of a message that failed, the client may still hold the bytes.
    private void OnSettled(Outgoing message)
    {
        message.Release();
        _window.Release();
    }
}

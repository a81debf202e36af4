using System.Net.Sockets;

namespace Weir.Lab.Network;

/// <summary>
/// A TCP proxy on the loopback whose connections can be cut, as by a network that fails, or stalled, as by one that is silent for a while. Thread-safe.
/// </summary>
internal sealed class FaultProxy : IAsyncDisposable
{
    private const int BufferBytes = 16 << 10;
    private const int Backlog = 128;

    private readonly Lock _lock = new();
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly CancellationTokenSource _stop = new();
    private readonly HashSet<Link> _links = [];
    private readonly Task _accepting;
    private readonly string _host;
    private readonly int _port;
    private TaskCompletionSource _flow = Flowing();
    private int _isDisposed;

    /// <summary>Starts a proxy on a free port.</summary>
    public FaultProxy(string host, int port)
    {
        _host = host;
        _port = port;
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen(Backlog);
        Port = ((IPEndPoint)_listener.LocalEndPoint!).Port;
        _accepting = Task.Run(AcceptAsync);
    }

    /// <summary>The port of 127.0.0.1 that it listens on.</summary>
    public int Port { get; }

    /// <summary>The number of open connections.</summary>
    public int Connections
    {
        get
        {
            lock (_lock)
            {
                return _links.Count;
            }
        }
    }

    /// <summary>Resets all connections, on both sides. What was on its way may be lost. New connections are accepted.</summary>
    /// <returns>How many there were.</returns>
    public int Cut()
    {
        Link[] links;
        lock (_lock)
        {
            links = [.. _links];
        }

        foreach (Link link in links)
        {
            link.Reset();
        }

        return links.Length;
    }

    /// <summary>Forwards nothing, on any connection, until <see cref="Resume"/>. Nobody is told: both sides only hear nothing.</summary>
    public void Stall()
    {
        lock (_lock)
        {
            if (_flow.Task.IsCompleted)
            {
                _flow = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            }
        }
    }

    /// <summary>Forwards again, first what was held.</summary>
    public void Resume() => Flow().TrySetResult();

    public async ValueTask DisposeAsync()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) != 0)
        {
            return;
        }

        await _stop.CancelAsync().ConfigureAwait(false);
        _listener.Dispose();
        await _accepting.ConfigureAwait(false);
        Link[] links;
        lock (_lock)
        {
            links = [.. _links];
        }

        Cut();
        Resume();
        await Task.WhenAll(links.Select(static l => l.Ended)).ConfigureAwait(false);
        _stop.Dispose();
    }

    private static TaskCompletionSource Flowing()
    {
        TaskCompletionSource flow = new();
        flow.SetResult();
        return flow;
    }

    private TaskCompletionSource Flow()
    {
        lock (_lock)
        {
            return _flow;
        }
    }

    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            Socket client;
            try
            {
                client = await _listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
            }
            catch (Exception e) when (e is OperationCanceledException or ObjectDisposedException)
            {
                return;
            }
            catch (SocketException)
            {
                // Whoever wanted to connect is gone already.
                continue;
            }

            Link link = new(this, client, new Socket(SocketType.Stream, ProtocolType.Tcp));
            lock (_lock)
            {
                _links.Add(link);
            }

            link.Start();
        }
    }

    /// <summary>A connection: both its sides, and a copy in each direction.</summary>
    private sealed class Link(FaultProxy proxy, Socket client, Socket server)
    {
        public Task Ended { get; private set; } = Task.CompletedTask;

        public void Start() => Ended = RunAsync();

        /// <summary>Closes both sides without a farewell, as after a failure: the peers get an error, and not the end of the stream.</summary>
        public void Reset()
        {
            foreach (Socket side in new[] { client, server })
            {
                try
                {
                    side.LingerState = new LingerOption(enable: true, seconds: 0);
                }
                catch (Exception e) when (e is SocketException or ObjectDisposedException)
                {
                    // It has ended already.
                }

                side.Dispose();
            }
        }

        private async Task RunAsync()
        {
            await Task.Yield();
            try
            {
                await server.ConnectAsync(proxy._host, proxy._port, proxy._stop.Token).ConfigureAwait(false);
                client.NoDelay = true;
                server.NoDelay = true;
                await Task.WhenAll(CopyAsync(client, server), CopyAsync(server, client)).ConfigureAwait(false);
            }
            catch (Exception e) when (e is SocketException or ObjectDisposedException or OperationCanceledException)
            {
                // Cut, or nobody listens at the other end: whoever has connected learns it as without a proxy.
            }
            finally
            {
                Reset();
                lock (proxy._lock)
                {
                    proxy._links.Remove(this);
                }
            }
        }

        private async Task CopyAsync(Socket from, Socket to)
        {
            byte[] buffer = new byte[BufferBytes];
            try
            {
                int read;
                do
                {
                    read = await from.ReceiveAsync(buffer, proxy._stop.Token).ConfigureAwait(false);

                    // The end of the stream is held as well: it is a message like the others.
                    await proxy.Flow().Task.ConfigureAwait(false);
                    for (int sent = 0; sent < read;)
                    {
                        sent += await to.SendAsync(buffer.AsMemory(sent, read - sent), proxy._stop.Token).ConfigureAwait(false);
                    }
                }
                while (read > 0);
                to.Shutdown(SocketShutdown.Send);
            }
            catch
            {
                // The other direction would wait for a peer that has no reason to speak.
                Reset();
                throw;
            }
        }
    }
}

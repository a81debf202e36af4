using System.Net.Sockets;

namespace Weir.Lab.Workloads;

/// <summary>A request to a server in this process, over the loopback. Client and server share the processors.</summary>
internal sealed class HttpWorkload : ItemWorkload, IDisposable
{
    private const int Tries = 20;
    private static readonly byte[] Body = new byte[256];

    private HttpListener? _server;
    private HttpClient? _client;
    private Uri? _address;

    public override string Name => "http";

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= async (item, _) =>
    {
        Verified(await _client!.GetByteArrayAsync(_address, CancellationToken.None).ConfigureAwait(false));
        return item;
    };

    public override ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        (_server, _address) = Listen();
        _ = ServeAsync(_server);
        SocketsHttpHandler handler = new() { MaxConnectionsPerServer = Math.Max(spec.Workers, spec.MaxInFlight ?? spec.Workers), UseProxy = false };
        _client = new HttpClient(handler, disposeHandler: true);
        return default;
    }

    public override Operation CreateOperation(WorkerContext context) => Operation.OfAsync(async Task<int> () =>
    {
        context.InFlight.Enter();
        try
        {
            return Verified(await _client!.GetByteArrayAsync(_address, CancellationToken.None).ConfigureAwait(false));
        }
        finally
        {
            context.InFlight.Exit();
        }
    });

    public override ValueTask CleanupAsync()
    {
        Dispose();
        return default;
    }

    public void Dispose()
    {
        _client?.Dispose();
        _server?.Close();
    }

    private static int Verified(byte[] body) =>
        body.Length == Body.Length ? body.Length : throw new InvalidDataException($"The answer has {body.Length} bytes instead of {Body.Length}.");

    // The listener cannot choose a free port itself: another program may take one between finding and using it.
    private static (HttpListener Server, Uri Address) Listen()
    {
        for (int tries = 1; ; tries++)
        {
            using TcpListener probe = new(IPAddress.Loopback, 0);
            probe.Start();
            int port = ((IPEndPoint)probe.LocalEndpoint).Port;
            probe.Stop();
            HttpListener server = new();
            server.Prefixes.Add($"http://127.0.0.1:{port}/");
            try
            {
                server.Start();
                return (server, new Uri($"http://127.0.0.1:{port}/"));
            }
            catch (HttpListenerException) when (tries < Tries)
            {
                server.Close();
            }
        }
    }

    private static async Task ServeAsync(HttpListener server)
    {
        while (server.IsListening)
        {
            try
            {
                HttpListenerContext request = await server.GetContextAsync().ConfigureAwait(false);
                _ = AnswerAsync(request.Response);
            }
            catch (Exception e) when (e is HttpListenerException or ObjectDisposedException or InvalidOperationException)
            {
                return;
            }
        }
    }

    private static async Task AnswerAsync(HttpListenerResponse response)
    {
        try
        {
            response.ContentLength64 = Body.Length;
            await response.OutputStream.WriteAsync(Body).ConfigureAwait(false);
            response.Close();
        }
        catch (Exception e) when (e is HttpListenerException or ObjectDisposedException or InvalidOperationException)
        {
            // The client is gone, or the server is closing.
        }
    }
}

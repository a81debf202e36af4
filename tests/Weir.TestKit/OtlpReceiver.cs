using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Weir.TestKit;

/// <summary>Takes what an OTLP exporter sends over HTTP, and answers that all is well.</summary>
public sealed class OtlpReceiver : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);

    public OtlpReceiver()
    {
        _listener.Start();
        _ = AcceptAsync();
    }

    /// <summary>The bodies, by the path that they were sent to. Text in them is as it is; the rest is protobuf.</summary>
    public ConcurrentQueue<(string Path, string Body)> Received { get; } = new();

    public Uri Endpoint(string path) => new($"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}{path}");

    /// <summary>Whether something was sent there that has all the texts in it.</summary>
    public bool Has(string path, params string[] texts) =>
        Received.Any(r => r.Path == path && texts.All(text => r.Body.Contains(text, StringComparison.Ordinal)));

    public void Dispose() => _listener.Dispose();

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                _ = ServeAsync(await _listener.AcceptTcpClientAsync());
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The end.
        }
    }

    private async Task ServeAsync(TcpClient client)
    {
        using (client)
        {
            NetworkStream stream = client.GetStream();
            byte[] one = new byte[1];
            while (true)
            {
                StringBuilder head = new();
                while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
                {
                    if (await stream.ReadAsync(one) == 0)
                    {
                        return;
                    }

                    head.Append((char)one[0]);
                }

                string[] lines = head.ToString().Split("\r\n");
                string length = lines.First(static l => l.StartsWith("Content-Length:", StringComparison.OrdinalIgnoreCase)).Split(':')[1];
                byte[] body = new byte[int.Parse(length, CultureInfo.InvariantCulture)];
                await stream.ReadExactlyAsync(body);
                Received.Enqueue((lines[0].Split(' ')[1], Encoding.UTF8.GetString(body)));
                await stream.WriteAsync("HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"u8.ToArray());
            }
        }
    }
}

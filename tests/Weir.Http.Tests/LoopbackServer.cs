using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Weir.Http.Tests;

/// <summary>A real server on this machine whose answers a test writes byte by byte, and which may stop in the middle of them.</summary>
internal sealed class LoopbackServer : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly Func<string, int, Answer> _answer;
    private readonly Task _accepting;

    /// <param name="answer">Gets the head of each request and its number, from 0.</param>
    public LoopbackServer(Func<string, int, Answer> answer)
    {
        _answer = answer;
        _listener.Start();
        _accepting = AcceptAsync();
    }

    public ConcurrentQueue<string> Requests { get; } = [];

    public Uri Address => new($"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}/file?key=secret");

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        _listener.Stop();
        await _accepting.EndsAsync("the server");
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        List<Task> clients = [];
        try
        {
            while (true)
            {
                clients.Add(ServeAsync(await _listener.AcceptTcpClientAsync(_end.Token)));
            }
        }
        catch (Exception e) when (e is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            await Task.WhenAll(clients);
        }
    }

    private async Task ServeAsync(TcpClient client)
    {
        using (client)
        {
            try
            {
                NetworkStream stream = client.GetStream();
                string head = await ReadHeadAsync(stream);
                int number = Requests.Count;
                Requests.Enqueue(head);
                Answer answer = _answer(head, number);
                await stream.WriteAsync(Encoding.ASCII.GetBytes(answer.Head + "\r\nConnection: close\r\n\r\n"), _end.Token);
                await stream.WriteAsync(answer.Body, _end.Token);
                if (answer.IsSilent)
                {
                    await Task.Delay(Timeout.InfiniteTimeSpan, TimeProvider.System, _end.Token);
                }
            }
            catch (Exception e) when (e is OperationCanceledException or IOException)
            {
                // The client went away, or the test has ended.
            }
        }
    }

    private async Task<string> ReadHeadAsync(NetworkStream stream)
    {
        StringBuilder head = new();
        byte[] one = new byte[1];
        while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal) && await stream.ReadAsync(one, _end.Token) == 1)
        {
            head.Append((char)one[0]);
        }

        return head.ToString();
    }

    /// <summary>A response. A body shorter than its stated length breaks off, or stays away for ever.</summary>
    internal sealed record Answer(string Head, ReadOnlyMemory<byte> Body = default, bool IsSilent = false)
    {
        public static Answer Of(int status, string headers = "", ReadOnlyMemory<byte> body = default, int? length = null, bool isSilent = false) =>
            new($"HTTP/1.1 {status} Said\r\nContent-Length: {length ?? body.Length}{(headers == "" ? "" : "\r\n" + headers)}", body, isSilent);
    }
}

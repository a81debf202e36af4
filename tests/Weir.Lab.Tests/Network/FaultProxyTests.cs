using System.Net;
using System.Net.Sockets;
using Weir.Lab.Network;
using Weir.TestKit;

namespace Weir.Lab.Tests.Network;

public sealed class FaultProxyTests : IAsyncDisposable
{
    private const int Limit = 120_000;

    private readonly TcpListener _server = new(IPAddress.Loopback, 0);
    private readonly FaultProxy _proxy;

    public FaultProxyTests()
    {
        _server.Start();
        _proxy = new FaultProxy("127.0.0.1", ((IPEndPoint)_server.LocalEndpoint).Port);
    }

    [Fact(Timeout = Limit)]
    public async Task Connection_BytesAndEnds_PassBothWays()
    {
        (Socket client, Socket server) = await ConnectAsync();
        byte[] bytes = [.. Enumerable.Range(0, 100_000).Select(static i => (byte)(i * 7))];
        Task sending = SendAsync(client, bytes);
        Assert.Equal(bytes, await ReceiveAsync(server, bytes.Length));
        await sending;

        // One end of a connection may be closed before the other.
        client.Shutdown(SocketShutdown.Send);
        Assert.Equal(0, await server.ReceiveAsync(new byte[1]).WithinAsync("the end"));
        await SendAsync(server, [1, 2]);
        Assert.Equal([1, 2], await ReceiveAsync(client, 2));
        server.Shutdown(SocketShutdown.Send);
        Assert.Equal(0, await client.ReceiveAsync(new byte[1]).WithinAsync("the other end"));
        await Guard.UntilAsync(() => _proxy.Connections == 0, "The connection has ended");
    }

    [Fact(Timeout = Limit)]
    public async Task Cut_OpenConnections_BothSidesGetAnErrorAndANewOneWorks()
    {
        (Socket client, Socket server) = await ConnectAsync();
        Assert.Equal(1, _proxy.Cut());
        foreach (Socket side in new[] { client, server })
        {
            SocketException cut = await Assert.ThrowsAsync<SocketException>(() => side.ReceiveAsync(new byte[1]).WithinAsync("the cut"));
            Assert.Equal(SocketError.ConnectionReset, cut.SocketErrorCode);
        }

        (client, server) = await ConnectAsync();
        await SendAsync(server, [7]);
        Assert.Equal([7], await ReceiveAsync(client, 1));
    }

    [Fact(Timeout = Limit)]
    public async Task Stall_BytesAndTheEnd_AreHeldUntilItResumes()
    {
        (Socket client, Socket server) = await ConnectAsync();
        _proxy.Stall();
        await SendAsync(client, [1]);
        client.Shutdown(SocketShutdown.Send);
        Task<byte[]> received = ReceiveAsync(server, 1);
        await Guard.PauseAsync();
        Assert.False(received.IsCompleted);
        _proxy.Resume();
        Assert.Equal([1], await received);
        Assert.Equal(0, await server.ReceiveAsync(new byte[1]).WithinAsync("the end"));
    }

    [Fact(Timeout = Limit)]
    public async Task Connect_NobodyListens_ClosesTheConnection()
    {
        // A port that is taken, where nobody listens. One that is free may be given to another program, which listens.
        using Socket taken = new(SocketType.Stream, ProtocolType.Tcp);
        taken.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using FaultProxy proxy = new("127.0.0.1", ((IPEndPoint)taken.LocalEndPoint!).Port);
        try
        {
            using Socket client = await OpenAsync(proxy);
            Assert.Equal(0, await client.ReceiveAsync(new byte[1]).WithinAsync("the end"));
        }
        catch (SocketException e)
        {
            Assert.Equal(SocketError.ConnectionReset, e.SocketErrorCode);
        }
    }

    [Theory(Timeout = Limit)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Dispose_OpenConnections_EndsThem(bool isStalled)
    {
        (Socket client, _) = await ConnectAsync();
        if (isStalled)
        {
            _proxy.Stall();
            await SendAsync(client, [1]);
        }

        await _proxy.DisposeAsync().WithinAsync("the proxy");
        Assert.Equal(0, _proxy.Connections);
    }

    [Fact(Timeout = Limit)]
    public async Task Dispose_NobodyListensAnyMore()
    {
        // The port is free afterwards: another program may be given it at once and accept the connection. It is not given ten of them.
        for (int i = 0; i < 10; i++)
        {
            FaultProxy proxy = new("127.0.0.1", ((IPEndPoint)_server.LocalEndpoint).Port);
            await proxy.DisposeAsync().AsTask().WithinAsync("the proxy");
            using Socket client = new(SocketType.Stream, ProtocolType.Tcp);
            if (await Record.ExceptionAsync(() => client.ConnectAsync(IPAddress.Loopback, proxy.Port).WithinAsync("the refusal")) is SocketException)
            {
                return;
            }
        }

        Assert.Fail("Each of ten proxies was still listening after its end.");
    }

    public async ValueTask DisposeAsync()
    {
        await _proxy.DisposeAsync();
        _server.Dispose();
    }

    private static async Task SendAsync(Socket socket, byte[] bytes)
    {
        for (int sent = 0; sent < bytes.Length;)
        {
            sent += await socket.SendAsync(bytes.AsMemory(sent)).WithinAsync("the sending");
        }
    }

    private static async Task<byte[]> ReceiveAsync(Socket socket, int count)
    {
        byte[] bytes = new byte[count];
        for (int received = 0; received < count;)
        {
            int read = await socket.ReceiveAsync(bytes.AsMemory(received)).WithinAsync("the bytes");
            Assert.True(read > 0, "The connection ended too early.");
            received += read;
        }

        return bytes;
    }

    private static async Task<Socket> OpenAsync(FaultProxy proxy)
    {
        Socket client = new(SocketType.Stream, ProtocolType.Tcp);
        await client.ConnectAsync(IPAddress.Loopback, proxy.Port).WithinAsync("the connection");
        return client;
    }

    private async Task<(Socket Client, Socket Server)> ConnectAsync()
    {
        Task<Socket> accepting = _server.AcceptSocketAsync();
        Socket client = await OpenAsync(_proxy);
        return (client, await accepting.WithinAsync("the accepted connection"));
    }
}

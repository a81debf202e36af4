using System.Collections.Concurrent;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Weir.RabbitMQ.Tests.Servers;

/// <summary>Stands before a broker and speaks TLS, with a certificate of an authority of its own, as a broker with a TLS listener does.</summary>
internal sealed class TlsProxy : IAsyncDisposable
{
    private readonly Uri _broker;
    private readonly X509Certificate2 _certificate;
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentBag<Task> _connections = [];
    private readonly Task _accepting;

    /// <param name="broker">The broker, without TLS.</param>
    /// <param name="host">Whose certificate it shows.</param>
    public TlsProxy(Uri broker, string host)
    {
        _broker = broker;
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest authority = new("CN=An authority of a test", key, HashAlgorithmName.SHA256);
        authority.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        authority.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign, true));
        DateTimeOffset now = TimeProvider.System.GetUtcNow();
        Authority = authority.CreateSelfSigned(now.AddDays(-1), now.AddDays(2));

        using ECDsa own = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest server = new($"CN={host}", own, HashAlgorithmName.SHA256);
        SubjectAlternativeNameBuilder names = new();
        names.AddDnsName(host);
        server.CertificateExtensions.Add(names.Build());
        server.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid("1.3.6.1.5.5.7.3.1")], false));
        using X509Certificate2 signed = server.Create(Authority, now.AddDays(-1), now.AddDays(1), RandomNumberGenerator.GetBytes(8));
        _certificate = signed.CopyWithPrivateKey(own);
        _listener.Start();
        _accepting = AcceptAsync();
    }

    /// <summary>Who has signed the certificate of the server.</summary>
    public X509Certificate2 Authority { get; }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Connections whose handshake has ended well.</summary>
    public int Encrypted => _encrypted;

    private int _encrypted;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        _listener.Stop();
        await _accepting;
        await Task.WhenAll(_connections);
        _certificate.Dispose();
        Authority.Dispose();
        _stop.Dispose();
    }

    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                _connections.Add(ServeAsync(await _listener.AcceptTcpClientAsync(_stop.Token)));
            }
            catch (Exception e) when (e is OperationCanceledException or SocketException or ObjectDisposedException)
            {
                return;
            }
        }
    }

    private async Task ServeAsync(TcpClient client)
    {
        try
        {
            using TcpClient mine = client;
            await using SslStream secured = new(mine.GetStream());
            await secured.AuthenticateAsServerAsync(new SslServerAuthenticationOptions { ServerCertificate = _certificate }, _stop.Token);
            Interlocked.Increment(ref _encrypted);
            using TcpClient broker = new();
            await broker.ConnectAsync(_broker.Host, _broker.Port, _stop.Token);
            await using NetworkStream plain = broker.GetStream();
            await Task.WhenAny(secured.CopyToAsync(plain, _stop.Token), plain.CopyToAsync(secured, _stop.Token));
        }
        catch (Exception e) when (e is IOException or OperationCanceledException or SocketException or System.Security.Authentication.AuthenticationException)
        {
            // The other side has left, or does not trust this one.
        }
    }
}

using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using RabbitMQ.Client;
using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Connections over TLS, whose certificate is checked, to a virtual host of one's own, as docs/reference/rabbitmq.md sets them up.</summary>
public sealed class TlsTests(RabbitServer server) : VirtualHostTest(server)
{
    private const string Host = "localhost";

    [Fact(Timeout = 300_000)]
    public async Task Queue_OverTlsInAnotherVirtualHost_DoesItsWorkThere()
    {
        await using TlsProxy proxy = new(Server.Admin, Host);
        await using RabbitWorkQueue<string> queue = Queue(o => o with { ConfigureConnection = factory => Trust(factory, proxy.Authority) }, Address(proxy));
        await queue.SetupAsync();
        await PublishAsync(queue, Values(20));
        await using (IWorkSource<string> source = await queue.OpenSourceAsync())
        {
            WorkBatch<string> batch = await NextAsync(source);
            Assert.Equal(20, batch.Items.Count);
            await source.AcknowledgeAsync([batch], CancellationToken.None);
        }

        // Everything went through the encrypted connections, and nothing of it is in the virtual host of the other tests.
        Assert.InRange(proxy.Encrypted, 2, int.MaxValue);
        await using RabbitWorkQueue<string> elsewhere = Queue(null, Server.Admin);
        WorkSetupException missing = await Assert.ThrowsAsync<WorkSetupException>(async () => await elsewhere.OpenSourceAsync());
        Assert.Contains("is missing: call SetupAsync once", missing.Message, StringComparison.Ordinal);
    }

    [Theory(Timeout = 300_000)]
    [InlineData(Host, false)]
    [InlineData("rabbit.example.org", true)]
    public async Task Certificate_OfAnotherAuthorityOrHost_IsRefused(string host, bool trusted)
    {
        await using TlsProxy proxy = new(Server.Admin, host);
        await using RabbitWorkQueue<string> queue = Queue(
            o => o with
            {
                ReconnectTimeout = TimeSpan.FromMilliseconds(1),
                ConfigureConnection = trusted ? factory => Trust(factory, proxy.Authority) : null,
            },
            Address(proxy));
        Exception e = await Assert.ThrowsAnyAsync<Exception>(async () => await queue.OpenSourceAsync());
        Assert.Contains("certificate", e.ToString(), StringComparison.OrdinalIgnoreCase);
        Assert.Equal(Host, Address(proxy).Host);

        // The same certificate is taken under its own name, which need not be that of the address.
        if (trusted)
        {
            await using RabbitWorkQueue<string> named = Queue(
                o => o with
                {
                    ConfigureConnection = factory =>
                    {
                        Trust(factory, proxy.Authority);
                        factory.Ssl.ServerName = host;
                    },
                },
                Address(proxy));
            await named.SetupAsync();
        }
    }

    private Uri Address(TlsProxy proxy) => new UriBuilder(Server.Admin) { Scheme = "amqps", Host = Host, Port = proxy.Port, Path = VirtualHost }.Uri;

    // As on the page.
    private static void Trust(ConnectionFactory factory, X509Certificate2 authority)
    {
        factory.Ssl.CertificateValidationCallback = (_, certificate, _, errors) =>
        {
            using X509Chain chain = new();
            chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
            chain.ChainPolicy.CustomTrustStore.Add(authority);
            chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
            return (errors & ~SslPolicyErrors.RemoteCertificateChainErrors) == SslPolicyErrors.None && chain.Build((X509Certificate2)certificate!);
        };
    }
}

using System.Globalization;
using RabbitMQ.Client;
using RabbitMQ.Client.Exceptions;
using Weir.RabbitMQ.Tests.Servers;

[assembly: AssemblyFixture(typeof(RabbitServer))]

namespace Weir.RabbitMQ.Tests.Servers;

/// <summary>
/// The broker of all tests: that of WEIR_RABBITMQ, or the one that all test projects share. Where none is to be had, the tests are skipped and say why.
/// </summary>
public sealed class RabbitServer : IAsyncLifetime
{
    private readonly SharedServers _servers = new();
    private readonly List<string> _names = [];
    private Uri? _admin;
    private Uri? _worker;
    private string _reason = "";
    private int _count;

    /// <summary>The administrator's address.</summary>
    public Uri Admin
    {
        get
        {
            Assert.SkipWhen(_admin is null, _reason);
            return _admin!;
        }
    }

    /// <summary>The address of a user with no other rights than docs/reference/rabbitmq.md lists.</summary>
    public Uri Worker => _worker ?? Admin;

    public async ValueTask InitializeAsync()
    {
        (string? text, _reason) = await _servers.StartAsync(SharedServers.Rabbit);
        if (text is not null)
        {
            await TryAsync(text);
        }
    }

    /// <summary>A name that no other test has, and for which the worker has its rights. Its queues go at the end.</summary>
    public string NewName()
    {
        lock (_names)
        {
            string name = string.Create(CultureInfo.InvariantCulture, $"test.{Environment.ProcessId}-{Guid.NewGuid():N}-{++_count}");
            _names.Add(name);
            return name;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await using SharedServers left = _servers;
        if (_admin is null)
        {
            return;
        }

        await using IConnection connection = await ConnectAsync(_admin);
        await using IChannel channel = await connection.CreateChannelAsync();
        foreach (string name in _names)
        {
            // A queue that is not there is none to delete.
            string[] queues = [name, .. Enumerable.Range(0, 4).Select(i => $"{name}.{i}"), $"{name}.suspects", $"{name}.dead", $"{name}.retry.1"];
            foreach (string queue in queues)
            {
                await channel.QueueDeleteAsync(queue, ifUnused: false, ifEmpty: false);
            }

            await channel.ExchangeDeleteAsync(name);
        }
    }

    /// <summary>Runs RabbitMQ's own command. The test is skipped where the broker is not that of eng/services.</summary>
    public async Task CommandAsync(params string[] arguments)
    {
        Assert.SkipWhen(Environment.GetEnvironmentVariable(SharedServers.RabbitVariable) is { Length: > 0 }, "The broker is somebody else's.");
        Assert.NotNull(Admin);
        (int code, _, string error) = await ServersScript.RunAsync(null, ["rabbitmqctl", .. arguments]);
        Assert.True(code == 0, error);
    }

    public static async Task<IConnection> ConnectAsync(Uri uri) =>
        await new ConnectionFactory { Uri = uri, AutomaticRecoveryEnabled = false }.CreateConnectionAsync();

    private async Task TryAsync(string text)
    {
        if (ServersScript.Connection(text, SharedServers.RabbitVariable) is not { } admin)
        {
            return;
        }

        try
        {
            await using IConnection connection = await ConnectAsync(new Uri(admin));
            _admin = new Uri(admin);
            _worker = ServersScript.Connection(text, SharedServers.RabbitWorkerVariable) is { } worker ? new Uri(worker) : _admin;
        }
        catch (BrokerUnreachableException e)
        {
            _reason = $"RabbitMQ does not answer: {e.Message}";
        }
    }
}

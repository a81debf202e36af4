using System.Globalization;
using RabbitMQ.Client;
using RabbitMQ.Client.Exceptions;
using Weir.RabbitMQ.Tests.Servers;

[assembly: AssemblyFixture(typeof(RabbitServer))]

namespace Weir.RabbitMQ.Tests.Servers;

/// <summary>
/// The broker of all tests: that of WEIR_RABBITMQ, or the one that runs, or one that is started. Where none is to be had, the tests are skipped and say why.
/// </summary>
public sealed class RabbitServer : IAsyncLifetime
{
    /// <summary>What the script calls the address for an administrator, and for a worker, who may not declare anything.</summary>
    public const string Variable = "WEIR_RABBITMQ";
    public const string WorkerVariable = "WEIR_RABBITMQ_WORKER";

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

    /// <summary>The address of a user with no other rights than docs/rabbitmq.md lists.</summary>
    public Uri Worker => _worker ?? Admin;

    public async ValueTask InitializeAsync()
    {
        string? environment = Environment.GetEnvironmentVariable(Variable);
        if (environment is not null)
        {
            await TryAsync($"{Variable}='{environment}'\n{WorkerVariable}='{Environment.GetEnvironmentVariable(WorkerVariable) ?? environment}'");
            return;
        }

        if (await ServersScript.FileAsync() is not { } text || !await TryAsync(text))
        {
            (int code, string output, string error) = await ServersScript.RunAsync(null, "up", "rabbitmq");
            _reason = $"There is no RabbitMQ here: {error.Trim()}";
            if (code == 0)
            {
                await TryAsync(output);
            }
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

    public static async Task<IConnection> ConnectAsync(Uri uri) =>
        await new ConnectionFactory { Uri = uri, AutomaticRecoveryEnabled = false }.CreateConnectionAsync();

    private async Task<bool> TryAsync(string text)
    {
        if (ServersScript.Connection(text, Variable) is not { } admin)
        {
            return false;
        }

        try
        {
            await using IConnection connection = await ConnectAsync(new Uri(admin));
            _admin = new Uri(admin);
            _worker = ServersScript.Connection(text, WorkerVariable) is { } worker ? new Uri(worker) : _admin;
            return true;
        }
        catch (BrokerUnreachableException e)
        {
            _reason = $"RabbitMQ does not answer: {e.Message}";
            return false;
        }
    }
}

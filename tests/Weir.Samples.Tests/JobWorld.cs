using System.Globalization;
using Npgsql;

namespace Weir.Samples.Tests;

/// <summary>A database and a virtual host for one test of a job system, and the programs over them.</summary>
internal sealed class JobWorld : IAsyncDisposable
{
    private readonly string _name = $"jobs_{Guid.NewGuid():N}";
    private readonly string _postgres;
    private readonly Dictionary<string, string> _environment = [];
    private string? _virtualHost;
    private NpgsqlDataSource? _database;

    private JobWorld(string postgres) => _postgres = postgres;

    public TemporaryFolder Folder { get; } = new();

    public static async Task<JobWorld> CreateAsync(SampleServers servers, bool hasBroker)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Signals of this kind are not sent between processes on Windows.");
        Assert.SkipWhen(servers.Postgres is null || (hasBroker && servers.Rabbit is null), servers.Reason);
        JobWorld world = new(servers.Postgres);
        await world.SetUpAsync(hasBroker ? servers.Rabbit : null);
        return world;
    }

    public SampleProgram Start(string sample, params IEnumerable<string> arguments) => SampleProgram.Start(sample, _environment, arguments);

    public SampleProgram StartWithInput(string sample, params IEnumerable<string> arguments) => SampleProgram.StartWithInput(sample, _environment, arguments);

    /// <summary>Makes the rows and the job, and waits for the end of the program that does it.</summary>
    public async Task EnqueueAsync(string sample, params IEnumerable<string> arguments)
    {
        await using SampleProgram client = Start(sample, arguments);
        (string output, string errors, int code) = await client.EndAsync();
        Assert.True(code == 0, output + errors);
    }

    /// <summary>How many letters were sent, and how often all of them together.</summary>
    public async Task<(int Sent, int Times)> CountAsync()
    {
        await using NpgsqlCommand command = _database!.CreateCommand("SELECT count(*) FILTER (WHERE times_sent > 0), sum(times_sent) FROM letters");
        await using NpgsqlDataReader reader = await command.ExecuteReaderAsync();
        Assert.True(await reader.ReadAsync());
        return ((int)reader.GetInt64(0), (int)reader.GetInt64(1));
    }

    /// <summary>Waits until the server has noticed the end of a program that was killed, so that nothing more of it is written.</summary>
    public Task NobodyElseAsync() => Guard.UntilAsync(
        async () =>
        {
            await using NpgsqlCommand command = _database!.CreateCommand(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'test'");
            return (long)(await command.ExecuteScalarAsync())! == 0;
        },
        "the end of the connections of the killed program");

    public async ValueTask DisposeAsync()
    {
        if (_database is not null)
        {
            await _database.DisposeAsync();
            await ExecuteAsync($"DROP DATABASE {_name} WITH (FORCE)");
        }

        if (_virtualHost is not null)
        {
            await BrokerAsync("eval", $"catch rabbit_vhost:delete(<<\"{_virtualHost}\">>, <<\"test\">>), ok.");
        }

        Folder.Dispose();
    }

    private static async Task BrokerAsync(params string[] arguments)
    {
        (int code, string output, string error) = await ServersScript.RunAsync(null, ["rabbitmqctl", .. arguments]);
        Assert.True(code == 0, output + error);
    }

    private async Task SetUpAsync(string? rabbit)
    {
        await ExecuteAsync($"CREATE DATABASE {_name}");
        NpgsqlConnectionStringBuilder own = new(_postgres) { Database = _name };
        _environment["WEIR_POSTGRES"] = own.ConnectionString;
        _database = NpgsqlDataSource.Create(new NpgsqlConnectionStringBuilder(own.ConnectionString) { ApplicationName = "test" });
        if (rabbit is not null)
        {
            await BrokerAsync("add_vhost", _name);
            _virtualHost = _name;
            await BrokerAsync("set_permissions", "-p", _name, new Uri(rabbit).UserInfo.Split(':')[0], ".*", ".*", ".*");
            _environment["WEIR_RABBITMQ"] = string.Create(CultureInfo.InvariantCulture, $"{rabbit.TrimEnd('/')}/{_name}");
        }
    }

    private async Task ExecuteAsync(string sql)
    {
        await using NpgsqlDataSource server = NpgsqlDataSource.Create(_postgres);
        await using NpgsqlCommand command = server.CreateCommand(sql);
        await command.ExecuteNonQueryAsync();
    }
}

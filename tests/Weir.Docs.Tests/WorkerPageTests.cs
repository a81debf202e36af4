using System.Reflection;
using Npgsql;
using Weir.Delivery;
using Weir.PostgreSql;

[assembly: AssemblyFixture(typeof(SharedServers))]

namespace Weir.Docs.Tests;

/// <summary>Is the program of the page about a worker over PostgreSQL whole, and does it do over a real server what the page says?</summary>
[Collection(nameof(Console))]
public sealed class WorkerPageTests(SharedServers servers) : IAsyncLifetime
{
    private const string Page = "docs/reference/worker-over-postgresql.md";
    private const string Variable = "ConnectionStrings__Work";
    private const string Run = "await app.RunAsync();";

    private readonly string _database = $"docs_{Guid.NewGuid():N}";
    private string? _address;
    private string _reason = "";
    private NpgsqlDataSource? _server;

    /// <summary>What stops the program in place of a signal.</summary>
    public static CancellationToken Signal { get; private set; }

    private static string Code { get; } = string.Join('\n', DocPages.Examples(Page));

    public async ValueTask InitializeAsync()
    {
        (_address, _reason) = await servers.AddressAsync(SharedServers.Postgres);
        if (_address is not null)
        {
            _server = NpgsqlDataSource.Create(_address);
            await ExecuteAsync($"CREATE DATABASE {_database}");
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_server is not null)
        {
            Environment.SetEnvironmentVariable(Variable, null);
            await ExecuteAsync($"DROP DATABASE {_database} WITH (FORCE)");
            await _server.DisposeAsync();
        }
    }

    [Fact]
    public async Task Program_ByItself_CompilesWithoutWarnings()
    {
        PageProgram program = PageProgram.Whole(Page, Code);
        Assert.Empty(program.Compile(out _));
        Assert.Empty(await program.WarningsAsync(TestContext.Current.CancellationToken));
    }

    [Fact(Timeout = 300_000)]
    public async Task Program_OverARealServer_SetsUpSendsAndStopsAtTheSignal()
    {
        Assert.SkipWhen(_address is null, _reason);
        string address = new NpgsqlConnectionStringBuilder(_address) { Database = _database }.ConnectionString;
        Environment.SetEnvironmentVariable(Variable, address);
        using CancellationTokenSource signal = new();
        Signal = signal.Token;

        // A signal would be one to the process of the tests.
        Assert.Contains(Run, Code, StringComparison.Ordinal);
        string stoppable = Code.Replace(Run, $"await app.RunAsync({typeof(WorkerPageTests)}.{nameof(Signal)});", StringComparison.Ordinal);
        PageProgram program = PageProgram.Whole(Page, stoppable);
        string[] errors = program.Compile(out byte[] compiled);
        Assert.True(errors.Length == 0, string.Join('\n', errors));

        // The publisher is the page's too. It may come before the worker's setup has ended, as any publisher may.
        Task<string> running = PageProgram.RunAsync(compiled, TimeSpan.FromMinutes(4));
        await using NpgsqlDataSource database = NpgsqlDataSource.Create(address);
        Type shop = Assembly.Load(compiled).GetType("Shop")!;
        var order = shop.GetMethod("OrderAsync")!.CreateDelegate<Func<string, CancellationToken, Task>>(Activator.CreateInstance(shop, database));
        foreach (string customer in new[] { "ann@example.org", "bob@example.org" })
        {
            await Guard.UntilAsync(() => TryOrderAsync(order, customer), "the setup of the worker");
        }

        // Nothing is left where nothing waits, runs or failed; and the worker goes on.
        await using PostgresWorkQueue<string> queue = new(database, "mails", WorkSerializer.Text);
        await Guard.UntilAsync(async () => await queue.GetStatisticsAsync(CancellationToken.None) is { Waiting: 0, InFlight: 0, Scheduled: 0, DeadLetters: 0 }, "the mails");
        Assert.False(running.IsCompleted);
        await signal.CancelAsync();
        string output = await running;
        Assert.Contains("sent to ann@example.org", output, StringComparison.Ordinal);
        Assert.Contains("sent to bob@example.org", output, StringComparison.Ordinal);
    }

    private static async Task<bool> TryOrderAsync(Func<string, CancellationToken, Task> order, string customer)
    {
        try
        {
            await order(customer, CancellationToken.None);
            return true;
        }
        catch (WorkSetupException)
        {
            return false;
        }
    }

    private async Task ExecuteAsync(string statement)
    {
        await using NpgsqlCommand command = _server!.CreateCommand(statement);
        await command.ExecuteNonQueryAsync();
    }
}

using Weir.TestKit;

[assembly: AssemblyFixture(typeof(SharedServers))]

namespace Weir.Cli.Tests.Support;

/// <summary>A server for the tests of a class. Where there is none, they are skipped and say why.</summary>
public abstract class TestServer(SharedServers servers, string name) : IAsyncLifetime
{
    private string _reason = "";

    /// <summary>The same as the address; null where there is none.</summary>
    public string? Found { get; private set; }

    /// <summary>How an administrator connects to it.</summary>
    public string Address
    {
        get
        {
            Assert.SkipWhen(Found is null, _reason);
            return Found!;
        }
    }

    public async ValueTask InitializeAsync() => (Found, _reason) = await servers.AddressAsync(name);

    public ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        return default;
    }
}

/// <summary>PostgreSQL.</summary>
public sealed class TestPostgres(SharedServers servers) : TestServer(servers, SharedServers.Postgres)
{
    /// <summary>Creates a database that no other test has.</summary>
    public Task<TestDatabase> CreateDatabaseAsync(string options = "") => TestDatabase.CreateAsync(Address, options);
}

/// <summary>The broker.</summary>
public sealed class TestRabbit(SharedServers servers) : TestServer(servers, SharedServers.Rabbit);

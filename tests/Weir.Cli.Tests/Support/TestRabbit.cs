using Weir.TestKit;

namespace Weir.Cli.Tests.Support;

/// <summary>The broker for the tests of a class. Where there is none, they are skipped and say why.</summary>
public sealed class TestRabbit(SharedServers servers) : IAsyncLifetime
{
    private string _reason = "";

    /// <summary>The same as the address; null where there is none.</summary>
    public string? Found { get; private set; }

    /// <summary>The administrator's address.</summary>
    public string Address
    {
        get
        {
            Assert.SkipWhen(Found is null, _reason);
            return Found!;
        }
    }

    public async ValueTask InitializeAsync() => (Found, _reason) = await servers.AddressAsync(SharedServers.Rabbit);

    public ValueTask DisposeAsync() => default;
}

namespace Weir.Samples.Tests;

/// <summary>The servers of the samples, which have started before a test begins.</summary>
public sealed class SampleServers(SharedServers servers) : IAsyncLifetime
{
    /// <summary>Where PostgreSQL is; null where there is none.</summary>
    public string? Postgres { get; private set; }

    /// <summary>Where RabbitMQ is; null where there is none.</summary>
    public string? Rabbit { get; private set; }

    /// <summary>Why one of them is missing.</summary>
    public string Reason { get; private set; } = "";

    public async ValueTask InitializeAsync()
    {
        (Postgres, string postgres) = await servers.AddressAsync(SharedServers.Postgres);
        (Rabbit, string rabbit) = await servers.AddressAsync(SharedServers.Rabbit);
        Reason = $"{postgres} {rabbit}".Trim();
    }

    public ValueTask DisposeAsync() => default;
}

using Npgsql;

namespace Weir.Lab.Queues.Arms;

/// <summary>Where a queue is.</summary>
/// <param name="Server">A connection string of PostgreSQL with a database of its own, or the address of a broker.</param>
/// <param name="Queue">A name that nothing else on the server has.</param>
/// <param name="Consumers">How many items a worker handles at a time.</param>
/// <param name="Ahead">How many messages a worker of a broker has that it did not acknowledge.</param>
internal sealed record QueueAddress(string Server, string Queue, int Consumers = 2, ushort Ahead = 200)
{
    /// <summary>Whether the server is a broker.</summary>
    public bool IsBroker => Server.StartsWith("amqp", StringComparison.Ordinal);

    /// <summary>The port of the server, by which its process is found.</summary>
    public int Port => IsBroker ? new Uri(Server).Port : new NpgsqlConnectionStringBuilder(Server).Port;
}

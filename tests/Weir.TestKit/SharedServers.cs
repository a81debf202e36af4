using System.Globalization;

namespace Weir.TestKit;

/// <summary>
/// The servers that all test projects share: those that the environment names, or those of <c>eng/services</c>, which run for as long as a process of tests
/// needs them. A project that uses them has one of these as a fixture of its assembly, so that its tests leave no server behind.
/// </summary>
public sealed class SharedServers : IAsyncDisposable
{
    /// <summary>What the script calls the servers.</summary>
    public const string Postgres = "postgres";
    public const string Rabbit = "rabbitmq";

    /// <summary>The variables that say where they are. The second one of a broker is of a user who may not declare anything.</summary>
    public const string PostgresVariable = "WEIR_POSTGRES";
    public const string RabbitVariable = "WEIR_RABBITMQ";
    public const string RabbitWorkerVariable = "WEIR_RABBITMQ_WORKER";

    private readonly Dictionary<string, Task<(string? Text, string Reason)>> _started = [];

    /// <summary>Starts a server that does not run yet. It may take a minute, so it belongs into a fixture, which no test's limit is for.</summary>
    /// <returns>Lines with its variables, as the script writes them, or null, and the reason why there is no server.</returns>
    public Task<(string? Text, string Reason)> StartAsync(string server)
    {
        lock (_started)
        {
            if (!_started.TryGetValue(server, out Task<(string? Text, string Reason)>? found))
            {
                found = FindAsync(server);
                _started.Add(server, found);
            }

            return found;
        }
    }

    /// <summary>The same with the address alone.</summary>
    public async Task<(string? Address, string Reason)> AddressAsync(string server)
    {
        (string? text, string reason) = await StartAsync(server).ConfigureAwait(false);
        return (text is null ? null : ServersScript.Connection(text, server == Postgres ? PostgresVariable : RabbitVariable), reason);
    }

    /// <summary>Gives them up, and waits until those have stopped that nobody else needs.</summary>
    public async ValueTask DisposeAsync()
    {
        Task<(string? Text, string Reason)>[] started;
        lock (_started)
        {
            started = [.. _started.Values];
        }

        await Task.WhenAll(started).ConfigureAwait(false);
        if (started.Length > 0)
        {
            await ServersScript.RunAsync(null, "leave", Environment.ProcessId.ToString(CultureInfo.InvariantCulture)).ConfigureAwait(false);
        }
    }

    private static async Task<(string? Text, string Reason)> FindAsync(string server)
    {
        string[] variables = server == Postgres ? [PostgresVariable] : [RabbitVariable, RabbitWorkerVariable];
        string given = string.Concat(variables
            .Select(static name => (Name: name, Value: Environment.GetEnvironmentVariable(name)))
            .Where(static variable => !string.IsNullOrEmpty(variable.Value))
            .Select(static variable => $"{variable.Name}='{variable.Value}'\n"));
        if (given.Length > 0)
        {
            return (given, "");
        }

        (int code, string output, string error) = await ServersScript.UpAsync(null, server).ConfigureAwait(false);
        return code == 0 ? (output, "") : (null, $"There is no {(server == Postgres ? "PostgreSQL" : "RabbitMQ")} here: {error.Trim()}");
    }
}

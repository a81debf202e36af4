namespace Weir.Audit.Engines;

/// <summary>The engines that can be audited, by their names.</summary>
internal static class AuditEngines
{
    private const string Rabbit = "rabbitmq";

    public static IReadOnlyDictionary<string, Func<EngineSetup, IAuditEngine>> All { get; } =
        new Dictionary<string, Func<EngineSetup, IAuditEngine>>(StringComparer.OrdinalIgnoreCase)
        {
            ["postgres"] = static setup => new PostgresAuditEngine(setup.Database, setup.Scenario, setup.Fault),
            [Rabbit] = static setup => new RabbitAuditEngine(setup.Broker!, setup.Name, setup.Scenario, setup.Fault),
        };

    /// <summary>Whether an engine needs a broker beside the database.</summary>
    public static bool NeedsBroker(string engine) => engine == Rabbit;
}

namespace Weir.Audit.Engines;

/// <summary>The engines that can be audited, by their names.</summary>
internal static class AuditEngines
{
    private const string Rabbit = "rabbitmq";

    public static IReadOnlyDictionary<string, Func<EnginePlace, IAuditEngine>> All { get; } =
        new Dictionary<string, Func<EnginePlace, IAuditEngine>>(StringComparer.OrdinalIgnoreCase)
        {
            ["postgres"] = static place => new PostgresAuditEngine(place.Database, place.Scenario, place.Fault),
            [Rabbit] = static place => new RabbitAuditEngine(place.Broker!, place.Name, place.Scenario, place.Fault),
        };

    /// <summary>Whether an engine needs a broker beside the database.</summary>
    public static bool NeedsBroker(string engine) => engine == Rabbit;
}

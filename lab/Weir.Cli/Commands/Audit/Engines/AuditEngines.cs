using Npgsql;

namespace Weir.Cli.Commands.Audit.Engines;

/// <summary>The engines that can be audited, by their names.</summary>
internal static class AuditEngines
{
    public static IReadOnlyDictionary<string, Func<NpgsqlDataSource, SeededFault, IAuditEngine>> All { get; } =
        new Dictionary<string, Func<NpgsqlDataSource, SeededFault, IAuditEngine>>(StringComparer.OrdinalIgnoreCase)
        {
            ["postgres"] = static (database, fault) => new PostgresAuditEngine(database, fault),
        };
}

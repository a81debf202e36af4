namespace Weir.Audit.Engines;

/// <summary>What an engine of an audit is made of.</summary>
/// <param name="Database">The database, where the effects go.</param>
/// <param name="Name">A name that no other audit has.</param>
/// <param name="Broker">The broker, with its password; <see langword="null"/> for engines that need none.</param>
/// <param name="Scenario">What is audited.</param>
/// <param name="Fault">The fault that its users have.</param>
internal sealed record EngineSetup(NpgsqlDataSource Database, string Name, Uri? Broker, AuditScenario Scenario, SeededFault Fault);

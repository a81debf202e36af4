namespace Weir.Audit.Parts;

/// <summary>What a participant's process is told first. It is not in its arguments, which every user of the machine can read.</summary>
/// <param name="Engine">The name of the engine.</param>
/// <param name="Database">The connection string, with the password.</param>
/// <param name="Name">The name of the audit, which its queue has in a broker.</param>
/// <param name="Broker">The address of the broker, with the password; <see langword="null"/> for engines that need none.</param>
/// <param name="Scenario">The name of the scenario.</param>
/// <param name="Together">How many changes a transaction publishes at most.</param>
/// <param name="Fault">The fault that it has.</param>
/// <param name="FromTable">Whether a reader moves the changes from the table into the queue, and not the publisher.</param>
internal sealed record PartOrder(
    string Engine, string Database, string Name, Uri? Broker, string Scenario, int Together, SeededFault Fault, bool FromTable);

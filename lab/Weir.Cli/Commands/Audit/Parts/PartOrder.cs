using Weir.Cli.Commands.Audit.Engines;

namespace Weir.Cli.Commands.Audit.Parts;

/// <summary>What a participant's process is told first. It is not in its arguments, which every user of the machine can read.</summary>
/// <param name="Engine">The name of the engine.</param>
/// <param name="Database">The connection string, with the password.</param>
/// <param name="Fault">The fault that it has.</param>
/// <param name="FromTable">Whether a reader moves the changes from the table into the queue, and not the publisher.</param>
internal sealed record PartOrder(string Engine, string Database, SeededFault Fault, bool FromTable);

namespace Weir.Cli.Commands.History;

/// <summary>A line of the list of results, as JSON.</summary>
/// <param name="File">Where it is.</param>
/// <param name="StartedAt">When it was measured.</param>
/// <param name="Commit">The commit that was measured.</param>
/// <param name="Clean">Whether nothing was changed since that commit.</param>
/// <param name="Machine">The hash of the machine.</param>
/// <param name="Command">The command that measured it.</param>
/// <param name="Arms">The names of what was measured.</param>
internal sealed record KeptResult(
    string File, DateTimeOffset StartedAt, string Commit, bool Clean, string Machine, string Command, IReadOnlyList<string> Arms);

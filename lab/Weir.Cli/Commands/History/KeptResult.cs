using System.Text.Json.Serialization;

namespace Weir.Cli.Commands.History;

/// <summary>A line of the list of results, as JSON.</summary>
/// <param name="File">Where it is.</param>
/// <param name="Name">The name under which it was saved; <see langword="null"/> if it is kept by its commit.</param>
/// <param name="StartedAt">When it was measured.</param>
/// <param name="Commit">The commit that was measured, if there is one.</param>
/// <param name="Clean">Whether nothing was changed since that commit.</param>
/// <param name="Machine">The hash of the machine.</param>
/// <param name="Command">The command that measured it.</param>
/// <param name="Arms">The names of what was measured.</param>
/// <param name="IsCalledByTheStore">Whether its file has the name that the store gives, which says nothing that the line does not say.</param>
internal sealed record KeptResult(
    string File, string? Name, DateTimeOffset StartedAt, string? Commit, bool? Clean, string Machine, string Command, IReadOnlyList<string> Arms,
    [property: JsonIgnore] bool IsCalledByTheStore)
{
    public static KeptResult Of(string file, ResultFile result, string? name) => new(
        file, name, result.StartedAt, result.Source?.Commit, result.Source?.Clean, result.Machine.Hash, result.Command,
        [.. result.Arms.Where(static a => a.IsMeasured).Select(static a => a.Label)],
        name is not null || Path.GetFileName(file).StartsWith(HistoryStore.NameOf(result), StringComparison.Ordinal));
}

namespace Weir.Cli.History;

/// <summary>Results kept by commit: files in a directory.</summary>
internal sealed class HistoryStore(string directory)
{
    public const string DefaultDirectory = ".weir/history";

    /// <summary>Why a result cannot be kept; <see langword="null"/> when it can.</summary>
    public static string? FindProblem(ResultFile result) =>
        result.Partial ? "it is partial"
        : result.Has(FindingLevel.Invalid) ? "it is invalid"
        : !result.Arms.Any(static a => a.IsMeasured) ? "it has no rounds"
        : result.Source is null ? "it has no commit, as it would have from a git repository"
        : null;

    /// <summary>
    /// The file name of a result, without the suffix that distinguishes two of the same name: time, commit, machine and command.
    /// </summary>
    public static string NameOf(ResultFile result) => FormattableString.Invariant(
        $"{result.StartedAt.UtcDateTime:yyyyMMdd-HHmmss}-{result.Source!.Commit[..Math.Min(10, result.Source.Commit.Length)]}")
            + FormattableString.Invariant($"{(result.Source.Clean ? "" : "-changed")}-{result.Machine.Hash}-{result.Command}");

    /// <summary>Keeps a result.</summary>
    /// <exception cref="BadInputException">It cannot be written, or is there already.</exception>
    public string Add(ResultFile result)
    {
        string name = NameOf(result);
        string text = ResultJson.Write(result) + "\n";
        string path = Path.Combine(directory, name + ".json");
        for (int other = 2; File.Exists(path); other++)
        {
            if (File.ReadAllText(path) == text)
            {
                throw new BadInputException($"The history already has this result, as '{path}'.");
            }

            path = Path.Combine(directory, $"{name}-{other}.json");
        }

        ResultOutput.WriteFile(path, text);
        return path;
    }

    /// <summary>All results with their files, in the order in which they were measured.</summary>
    public IReadOnlyList<(string File, ResultFile Result)> Load()
    {
        (string File, ResultFile Result)[] results = Directory.Exists(directory)
            ? [.. Directory.EnumerateFiles(directory, "*.json")
                .Select(static f => (File: f, Result: ResultJson.Read(f)))
                .OrderBy(static r => r.Result.StartedAt)
                .ThenBy(static r => r.File, StringComparer.Ordinal)]
            : [];
        (string file, ResultFile without) = results.FirstOrDefault(static r => r.Result.Source is null);
        return without is not null ? throw new BadInputException($"'{file}' has no commit, so it has no place in a history.")
            : results.Length > 0 ? results
            : throw new BadInputException(
                $"There is no result in '{directory}': keep one with --keep, as 'weir run ... --keep', or with 'weir history add FILE'.");
    }
}

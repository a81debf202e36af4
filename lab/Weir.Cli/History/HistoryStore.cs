namespace Weir.Cli.History;

/// <summary>Results kept by commit, as files in a directory, and under names, as files in its folder <c>names</c>.</summary>
internal sealed class HistoryStore(string directory)
{
    public const string DefaultDirectory = ".weir/history";

    private const string OfNames = "names";

    /// <summary>Why a result cannot be kept by its commit; <see langword="null"/> when it can.</summary>
    public static string? FindProblem(ResultFile result) => FindProblemOfAny(result)
        ?? (result.Source is null ? "it has no commit, as it would have from a git repository" : null);

    /// <summary>Why a result cannot be kept, not even under a name; <see langword="null"/> when it can.</summary>
    public static string? FindProblemOfAny(ResultFile result) =>
        result.Partial ? "it is partial"
        : result.Has(FindingLevel.Invalid) ? "it is invalid"
        : !result.Arms.Any(static a => a.IsMeasured) ? "it has no rounds"
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

    /// <summary>Keeps a result under a name, in place of one of the same name.</summary>
    /// <exception cref="BadInputException">It cannot be written, or that is no name.</exception>
    public string Save(string name, ResultFile result)
    {
        string path = PathOf(name);
        ResultOutput.WriteFile(path, ResultJson.Write(result) + "\n");
        return path;
    }

    /// <summary>The names of results, in order.</summary>
    public IReadOnlyList<string> Names() => Directory.Exists(Path.Combine(directory, OfNames))
        ? [.. Directory.EnumerateFiles(Path.Combine(directory, OfNames), "*.json").Select(static f => Path.GetFileNameWithoutExtension(f))
            .Order(StringComparer.Ordinal)]
        : [];

    /// <summary>The result under a name.</summary>
    /// <exception cref="BadInputException">There is none.</exception>
    public ResultFile Named(string name)
    {
        string path = PathOf(name);
        if (!File.Exists(path))
        {
            IReadOnlyList<string> names = Names();
            throw new BadInputException(
                $"There is no result called '{name}' in '{directory}'{(names.Count > 0 ? $"; there are {string.Join(", ", names)}" : "")}. "
                    + $"Keep one with 'weir history save {name} FILE'.");
        }

        return ResultJson.Read(path);
    }

    /// <summary>The file of a name.</summary>
    /// <exception cref="BadInputException">That is no name.</exception>
    public string PathOf(string name) =>
        name.Length is > 0 and <= 100 && name.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.') && name[0] != '.'
        ? Path.Combine(directory, OfNames, name + ".json")
        : throw new BadInputException($"NAME must be up to 100 letters, digits, '-', '_' and '.'; it is '{name}'.");

    /// <summary>All results that are kept by commit.</summary>
    /// <exception cref="BadInputException">There is none.</exception>
    public IReadOnlyList<(string File, ResultFile Result)> Load() => ByCommit() is { Count: > 0 } results
        ? results
        : throw new BadInputException($"There is no result in '{directory}': keep one with --keep, as 'weir run ... --keep', or with 'weir history add FILE'.");

    /// <summary>All results that are kept by commit with their files, in the order in which they were measured; empty if there is none.</summary>
    public IReadOnlyList<(string File, ResultFile Result)> ByCommit()
    {
        (string File, ResultFile Result)[] results = Directory.Exists(directory)
            ? [.. Directory.EnumerateFiles(directory, "*.json")
                .Select(static f => (File: f, Result: ResultJson.Read(f)))
                .OrderBy(static r => r.Result.StartedAt)
                .ThenBy(static r => r.File, StringComparer.Ordinal)]
            : [];
        (string file, ResultFile without) = results.FirstOrDefault(static r => r.Result.Source is null);
        return without is null ? results : throw new BadInputException($"'{file}' has no commit, so a history cannot hold it.");
    }
}

/// <summary>The option that says where the history is.</summary>
internal sealed class HistoryOption
{
    private readonly TextOption _directory = TextOption.Of("--dir", null, "DIR", $"The directory of the history. Default {HistoryStore.DefaultDirectory}");

    public Option<string?> Flag => _directory;

    /// <summary>The store that was asked for.</summary>
    public HistoryStore Store(ParseResult parsed) =>
        new(_directory.Find(parsed) is { } given ? given.NotEmpty("a directory") : HistoryStore.DefaultDirectory);
}

/// <summary>The options that keep what is measured in the history.</summary>
internal sealed class KeepOption
{
    private readonly Option<bool> _keep =
        new("--keep") { Description = $"Keep the result by its commit in {HistoryStore.DefaultDirectory}, for 'weir history'" };
    private readonly TextOption _directory = TextOption.Of("--keep-in", null, "DIR", "Keep the result by its commit in another directory").Rare();

    public IReadOnlyList<Option> Options => [_keep, _directory];

    public void AddTo(Command command) => command.AddAll(Options);

    /// <summary>Returns whether the result is to be kept. If so, checks before the measurement that it can be.</summary>
    public bool Read(ParseResult parsed, WeirHost host)
    {
        if (DirectoryOf(parsed) is not { } directory)
        {
            return false;
        }

        if (SourceRecord.Read(new GitCalls { Say = host.Say, Stop = host.Stop }) is null)
        {
            throw new BadInputException("--keep needs a git repository with a commit, because results are kept by commit; this directory is not in one.");
        }

        ResultOutput.CheckCanWrite(Path.Combine(directory, $".weir-{Environment.ProcessId}"));
        return true;
    }

    /// <summary>Keeps a result that was asked to be kept, if it can be.</summary>
    public void Keep(ParseResult parsed, ResultFile result, WeirHost host)
    {
        if (DirectoryOf(parsed) is not { } directory)
        {
            return;
        }

        host.Error.WriteLine(
            HistoryStore.FindProblem(result) is { } why ? $"weir: the result is not kept: {why}." : $"kept {new HistoryStore(directory).Add(result)}");
    }

    /// <summary>The arguments that ask another command for the same.</summary>
    public IReadOnlyList<string> Arguments(ParseResult parsed) => DirectoryOf(parsed) is { } directory ? [_directory.Name, directory] : [];

    private string? DirectoryOf(ParseResult parsed) => _directory.Find(parsed) is { } given
        ? given.NotEmpty("a directory")
        : parsed.GetValue(_keep) ? HistoryStore.DefaultDirectory : null;
}

namespace Weir.Cli.History;

/// <summary>The options that keep what is measured in the history.</summary>
internal sealed class KeepOption
{
    private readonly Option<bool> _keep =
        new("--keep") { Description = $"Keep the result by its commit in {HistoryStore.DefaultDirectory}, for 'weir history'" };
    private readonly TextOption _directory = TextOption.Of("--keep-in", null, "DIR", "The same, in another directory").Rare();

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

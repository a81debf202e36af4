namespace Weir.Cli.History;

/// <summary>The option that says where the history is.</summary>
internal sealed class HistoryOption
{
    private readonly TextOption _directory = TextOption.Of("--dir", null, "DIR", $"The directory of the history. Default {HistoryStore.DefaultDirectory}");

    public Option<string?> Flag => _directory;

    /// <summary>The store that was asked for.</summary>
    public HistoryStore Store(ParseResult parsed) =>
        new(_directory.Find(parsed) is { } given ? given.NotEmpty("a directory") : HistoryStore.DefaultDirectory);
}

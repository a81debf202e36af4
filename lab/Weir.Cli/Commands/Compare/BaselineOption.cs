namespace Weir.Cli.Commands.Compare;

/// <summary>The option that says where baselines are.</summary>
internal sealed class BaselineOption
{
    private readonly TextOption _directory = TextOption.Of("--dir", null, "DIR", $"The directory of the baselines. Default {BaselineStore.DefaultDirectory}");

    public Option<string?> Flag => _directory;

    /// <summary>The store that was asked for.</summary>
    public BaselineStore Store(ParseResult parsed) =>
        new(_directory.Find(parsed) is { } given ? given.NotEmpty("a directory") : BaselineStore.DefaultDirectory);
}

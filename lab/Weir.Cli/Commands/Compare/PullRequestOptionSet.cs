namespace Weir.Cli.Commands.Compare;

/// <summary>What a comparison leaves for reviewers of a change, and the exit code that it ends with.</summary>
internal sealed class PullRequestOptionSet
{
    private readonly TextOption _summary = TextOption.Of("--summary", null, "FILE", "Append a short summary in Markdown, for a pull request");
    private readonly Option<bool> _annotate = new("--annotate") { Description = "Print what is slower as GitHub annotations" };

    public IReadOnlyList<Option> Options => [_summary, _annotate];

    public void AddTo(Command command) => command.AddAll(Options);

    /// <summary>The file of the summary, to which can be written; <see langword="null"/> for none.</summary>
    public string? File(ParseResult parsed)
    {
        string? file = _summary.Find(parsed)?.NotEmpty("a file");
        if (file is not null)
        {
            ResultOutput.CheckCanWrite(file);
        }

        return file;
    }

    /// <summary>Writes what is asked for.</summary>
    /// <returns>The exit code of the command, which says whether something is worse.</returns>
    public int Write(ParseResult parsed, string? file, ResultFile result, int code, WeirHost host)
    {
        PullRequestSummary.Append(result, file, parsed.GetValue(_annotate), host.Error);
        return code != ExitCode.Success || !result.Comparisons.Any(static c => c.IsWorse) ? code : ExitCode.Regression;
    }
}

/// <summary>The option that says which verdicts make a command fail.</summary>
/// <param name="otherwise">What happens without it.</param>
internal sealed class FailOnOption(string otherwise)
{
    private static readonly Dictionary<string, bool> Words = new(StringComparer.OrdinalIgnoreCase) { ["slower"] = false, ["inconclusive"] = true };

    private readonly TextOption _failOn =
        TextOption.Of("--fail-on", null, "WHAT", $"slower (exit code 2), or inconclusive (exit code 4 as well). Default {otherwise}");

    public Option<string?> Flag => _failOn;

    /// <summary>Whether it fails if nothing is decided too; <see langword="null"/> if it was not said.</summary>
    public bool? IsStrict(ParseResult parsed) => _failOn.Find(parsed)?.OneOf(Words);

    /// <summary>The exit code: that of what is worse, or else of what is not decided.</summary>
    public static int Code(int code, ResultFile result, bool isStrict) =>
        code == ExitCode.Success && isStrict && result.Comparisons.Any(static c => c.Verdict == Verdict.Inconclusive) ? ExitCode.Inconclusive : code;
}

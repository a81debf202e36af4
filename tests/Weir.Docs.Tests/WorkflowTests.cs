using System.Text.RegularExpressions;

namespace Weir.Docs.Tests;

/// <summary>The jobs for GitHub Actions: each of their steps is an action with a version, or commands that are understood and whose files are there.</summary>
public sealed partial class WorkflowTests
{
    private const string Workflow = ".github/workflows/benchmarks.yml";

    private static readonly string[] Lines = File.ReadAllLines(Path.Combine(Repository.Root, Workflow));

    [Fact]
    public void Steps_OfTheJob_AreActionsOrCommandsThatAreUnderstood()
    {
        string[] commands = [.. Commands(Lines)];

        Assert.Contains(commands, static command => command.Contains("check.sh", StringComparison.Ordinal));
        Assert.InRange(commands.Length, 4, int.MaxValue);
        Assert.All(commands, static command => Assert.Empty(Problems(command)));
        Assert.All(
            Lines.Where(static line => line.Contains("uses:", StringComparison.Ordinal)),
            static line => Assert.Matches(@"^ +- uses: actions/[a-z-]+@v\d+$|^ +uses: actions/[a-z-]+@v\d+$", line));
    }

    [Fact]
    public void Script_OfTheBaseline_HasCommandsThatAreUnderstood()
    {
        string script = File.ReadAllText(Path.Combine(Repository.Root, "samples", "CheckedBaseline", "check.sh"));
        string shown = Shown().Match(script).Groups[1].Value;
        string[] commands =
        [
            .. Called().Matches(script).Select(match => match.Groups[1].Value
                .Replace("\"${shown[@]}\"", shown, StringComparison.Ordinal)
                .Replace(" \"$@\"", "", StringComparison.Ordinal)),
        ];

        Assert.Contains(commands, static command => command.StartsWith("history check ", StringComparison.Ordinal)
            && command.Contains("--annotate", StringComparison.Ordinal));
        Assert.InRange(commands.Length, 3, int.MaxValue);
        Assert.All(commands, static command => Assert.Empty(CommandLines.Errors("weir", command)));
    }

    [Theory]
    [InlineData("dotnet build -c Release lab/Nothing")]
    [InlineData("samples/Nothing/check.sh a b")]
    [InlineData("eng/bench --filter '*NoSuchBenchmark*'")]
    [InlineData("make")]
    public void Problems_OfACommandThatIsWrong_AreFound(string command) => Assert.NotEmpty(Problems(command));

    // What stands after `run:`, on the line or below it.
    private static IEnumerable<string> Commands(string[] lines)
    {
        for (int i = 0; i < lines.Length; i++)
        {
            if (Run().Match(lines[i]) is not { Success: true } run)
            {
                continue;
            }

            if (run.Groups["one"].Value is { Length: > 0 } one && one != "|")
            {
                yield return one;
                continue;
            }

            int indent = run.Groups["indent"].Length;
            while (i + 1 < lines.Length && lines[i + 1].Length > indent && lines[i + 1].StartsWith(new string(' ', indent + 1), StringComparison.Ordinal))
            {
                yield return lines[++i].Trim();
            }
        }
    }

    private static IEnumerable<string> Problems(string command)
    {
        if (Program().Match(command) is { Success: true } program)
        {
            return CommandLines.Errors("eng/bench", program.Groups[1].Value);
        }

        string path = command switch
        {
            _ when command.StartsWith("dotnet build -c Release ", StringComparison.Ordinal) => command.Split(' ')[^1],
            _ when command.StartsWith("samples/", StringComparison.Ordinal) => command.Split(' ')[0],
            _ => "",
        };
        return path.Length == 0 ? ["it is no command that the test knows"]
            : Path.Exists(Path.Combine(Repository.Root, path)) ? []
            : [$"there is no {path}"];
    }

    [GeneratedRegex(@"^(?<indent> +)run: (?<one>.*)$")]
    private static partial Regex Run();

    [GeneratedRegex("^eng/bench (.*)$")]
    private static partial Regex Program();

    [GeneratedRegex("^(?: +|if )?weir ((?:run|history) [^|\n]*?)(?: \\|.*)?$", RegexOptions.Multiline)]
    private static partial Regex Called();

    [GeneratedRegex(@"shown=\((--[^)]*)\)")]
    private static partial Regex Shown();
}

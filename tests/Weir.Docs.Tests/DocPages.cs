using System.Text.RegularExpressions;

namespace Weir.Docs.Tests;

/// <summary>The pages of the repository: README and what is in docs and samples, without the measured results, which programs write.</summary>
internal static partial class DocPages
{
    /// <summary>All of them, by their paths in the repository.</summary>
    public static IEnumerable<string> All() =>
        new[] { "docs", "samples" }
            .SelectMany(static folder => Directory.EnumerateFiles(Path.Combine(Repository.Root, folder), "*.md", SearchOption.AllDirectories))
            .Select(static f => Path.GetRelativePath(Repository.Root, f).Replace(Path.DirectorySeparatorChar, '/'))
            .Where(static f => !f.StartsWith("docs/results/", StringComparison.Ordinal))
            .Prepend("README.md")
            .Order(StringComparer.Ordinal);

    public static string Read(string page) => File.ReadAllText(Path.Combine(Repository.Root, page)).ReplaceLineEndings("\n");

    /// <summary>Its blocks of C#, in order.</summary>
    public static string[] Examples(string page) => [.. Fenced().Matches(Read(page)).Select(static m => m.Groups[1].Value)];

    /// <summary>Its blocks of C# that are followed by what they print.</summary>
    public static (string Code, string Output)[] Programs(string page) =>
        [.. Printing().Matches(Read(page)).Select(static m => (m.Groups[1].Value, m.Groups[2].Value))];

    /// <summary>Its lines of code that call a program of the lab: which, by its name or its project, and its arguments.</summary>
    public static IEnumerable<(string Program, string Line)> Commands(string page) =>
        Read(page).Split('\n').Select(static line => Command().Match(line)).Where(static m => m.Success)
            .Select(static m => (m.Groups["program"].Value, m.Groups["line"].Value));

    [GeneratedRegex("^```csharp\n(.*?)^```", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Fenced();

    [GeneratedRegex("^```csharp\n((?:(?!^```).*\n)*)```\n\n```text\n((?:(?!^```).*\n)*)```", RegexOptions.Multiline)]
    private static partial Regex Printing();

    // In a block of its own: indented, with or without a prompt.
    [GeneratedRegex(
        @"^ {4}(?:\$ |\w+=\S+ )?(?:(?<program>weir-work|weir-audit|weir|eng/tables|eng/bench)"
            + @"|dotnet run .*--project (?<program>lab/Weir\.(?:Delivery\.)?Cli|bench/Weir\.(?:Audit|Bench)) --) +(?<line>.*)$")]
    private static partial Regex Command();
}

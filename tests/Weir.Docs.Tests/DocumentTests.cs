using System.Reflection;
using System.Text.RegularExpressions;
using Weir.Site.Documents;
using Weir.Site;

namespace Weir.Docs.Tests;

/// <summary>The documents, line by line: each command is one, each type, page, test and figure is there, and nothing is left open.</summary>
public sealed partial class DocumentTests
{
    private static readonly Lazy<Type[]> Types = new(static () =>
        [
            .. Directory.GetFiles(AppContext.BaseDirectory, "Weir*.dll")
                .SelectMany(static file => Assembly.Load(Path.GetFileNameWithoutExtension(file)).GetTypes()),
        ]);

    private static readonly Lazy<Dictionary<string, string>> TestSources = new(static () =>
        Directory.EnumerateFiles(Path.Combine(Repository.Root, "tests"), "*Tests.cs", SearchOption.AllDirectories)
            .GroupBy(static file => Path.GetFileNameWithoutExtension(file))
            .ToDictionary(static group => group.Key, static group => string.Concat(group.Select(File.ReadAllText))));

    public static TheoryData<string> Documents() => [.. Document.ReadAll(Repository.Root).Select(static document => document.Name)];

    [Theory]
    [MemberData(nameof(Documents))]
    public void Rows_OfADocument_AreTrue(string document)
    {
        DocumentRow[] rows = [.. Document.ReadAll(Repository.Root).Single(d => d.Name == document).Rows];
        Assert.InRange(rows.Length, 15, int.MaxValue);
        Assert.Empty(rows.SelectMany(static row => Problems(row).Select(problem => $"{row.Feature}: {problem}")));
    }

    [Fact]
    public void Pages_OfTheDocuments_AreThoseOfTheirTables()
    {
        (string Path, string Text)[] pages = [.. new DocumentPages(Repository.Root).Draw()];
        Assert.All(pages, static page => Assert.Equal(page.Text, DocPages.Read(page.Path)));
        Assert.Equal(
            pages.Select(static page => page.Path).Order(StringComparer.Ordinal),
            DocPages.All().Where(static page => page.StartsWith("docs/documents/", StringComparison.Ordinal)));
    }

    /// <summary>A row says of which program its figure is. What it does not know about the commit, its page of results does not say either.</summary>
    [Theory]
    [MemberData(nameof(Documents))]
    public void Figures_OfADocument_NameTheirProgramAndProcessor(string document)
    {
        string[] quoting =
        [
            .. Document.ReadAll(Repository.Root).Single(d => d.Name == document).Rows
                .Where(static row => row.Ours.Contains('{', StringComparison.Ordinal)).Select(static row => $"| {row.Feature} |"),
        ];
        string[] lines = [.. DocPages.Read($"docs/documents/{document}.md").Split('\n')];
        Assert.NotEmpty(quoting);
        Assert.All(quoting, feature => Assert.Contains(
            lines, line => line.Contains(feature, StringComparison.Ordinal) && Quotation().IsMatch(line)));
        Assert.DoesNotContain(lines, static line => line.Contains("no processor there", StringComparison.Ordinal));
    }

    public static TheoryData<DocumentRow, string> Wrong() => new()
    {
        { new() { Feature = "x" }, "neither a place, nor a figure, nor a reason" },
        { new() { Feature = "x", Pages = "lab.md", Theirs = "5 ms" }, "no figure of ours, and no reason" },
        { new() { Feature = "x", Pages = "lab.md", Ours = "5 ms" }, "a figure by hand" },
        { new() { Feature = "x", Pages = "nothing.md" }, "no page nothing.md" },
        { new() { Feature = "x", Types = "BufferBlok" }, "no type BufferBlok" },
        { new() { Feature = "x", Types = "BufferBlock.Pst" }, "no member BufferBlock.Pst" },
        { new() { Feature = "x", Command = "weir run lock --worker 8" }, "--worker" },
        { new() { Feature = "x", Command = "weird run" }, "no command of ours" },
        { new() { Feature = "x", Tests = "FeatureTests.Nothing" }, "no test FeatureTests.Nothing" },
    };

    [Theory]
    [MemberData(nameof(Wrong))]
    public void Problems_OfARowThatIsWrong_AreFound(DocumentRow row, string problem) =>
        Assert.Contains(problem, string.Join('\n', Problems(row)), StringComparison.Ordinal);

    private static IEnumerable<string> Problems(DocumentRow row)
    {
        if (!row.IsHere && !row.IsMeasured && row.Reason.Length == 0)
        {
            yield return "it has neither a place, nor a figure, nor a reason";
        }

        if (row.IsOnlyTheirs && row.Reason.Length == 0)
        {
            yield return "there is no figure of ours, and no reason";
        }

        if (ByHand().IsMatch(row.Ours))
        {
            yield return "there is a figure by hand";
        }

        foreach (string page in Items(row.Pages).Where(static page => !File.Exists(Path.Combine(Repository.Root, "docs", page.Split('#')[0]))))
        {
            yield return $"there is no page {page}";
        }

        foreach (string name in Items(row.Types))
        {
            string[] parts = name.Split('.');
            Type[] types = [.. Types.Value.Where(type => type.Name.Split('`')[0] == parts[0])];
            if (types.Length == 0)
            {
                yield return $"there is no type {name}";
            }
            else if (parts.Length > 1 && !types.Any(type => type.GetMember(parts[1]).Length > 0))
            {
                yield return $"there is no member {name}";
            }
        }

        foreach (string test in Items(row.Tests))
        {
            string[] parts = test.Split('.');
            if (!TestSources.Value.TryGetValue(parts[0], out string? source)
                || (parts.Length > 1 && !source.Contains($" {parts[1]}", StringComparison.Ordinal)))
            {
                yield return $"there is no test {test}";
            }
        }

        if (row.Command.Length > 0)
        {
            Match command = Command().Match(row.Command);
            foreach (string error in command.Success ? CommandLines.Errors(command.Groups[1].Value, command.Groups[2].Value) : ["it is no command of ours"])
            {
                yield return error;
            }
        }
    }

    private static string[] Items(string list) => list.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);

    // What stands outside of the braces. What the work is, such as waits of 1 ms, is no figure.
    [GeneratedRegex(@"(?<!of )(?<![\w.,])\d[\d.,]* ?(?:ns|us|ms|s|KB|MB|B|M|k)\b(?![^{]*\})|(?<![\w.,])\d\.\d\d(?!\d)(?![^{]*\})")]
    private static partial Regex ByHand();

    [GeneratedRegex(@"\(`[^`]+`, (?:`[0-9a-f]{7,10}`|no commit there), [^)]*\w")]
    private static partial Regex Quotation();

    [GeneratedRegex("^(?:[A-Z_]+=[^ ]+ )*(weir|weir-work|weir-audit|eng/tables|eng/bench)(?: (.*))?$")]
    private static partial Regex Command();
}

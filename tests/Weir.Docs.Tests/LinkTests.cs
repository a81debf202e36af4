using System.Text.RegularExpressions;

namespace Weir.Docs.Tests;

/// <summary>Does every link of a page to another page lead somewhere: to a file, and to a heading in it?</summary>
public partial class LinkTests
{
    public static TheoryData<string> Pages() =>
        [.. DocPages.All().Concat(["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"])
            .Concat(Directory.EnumerateFiles(Path.Combine(Repository.Root, "docs", "results"), "*.md")
                .Select(static f => "docs/results/" + Path.GetFileName(f)))];

    [Theory]
    [MemberData(nameof(Pages))]
    public void Page_Links_LeadToAFileAndAHeading(string page)
    {
        string folder = Path.GetDirectoryName(Path.Combine(Repository.Root, page))!;
        List<string> broken = [];
        foreach (string link in Link().Matches(Code().Replace(DocPages.Read(page), "")).Select(static m => m.Groups[1].Value))
        {
            string[] parts = link.Split('#');
            string file = parts[0].Length == 0 ? Path.Combine(Repository.Root, page) : Path.GetFullPath(Path.Combine(folder, parts[0]));
            if (!File.Exists(file) || (parts.Length > 1 && file.EndsWith(".md", StringComparison.Ordinal) && !Headings(file).Contains(parts[1])))
            {
                broken.Add(link);
            }
        }

        Assert.Empty(broken);
    }

    [Fact]
    public void Anchor_OfAHeading_IsThatOfTheSite()
    {
        Assert.Equal("keyed-lanes-2000-items-limit-8", Anchor("Keyed lanes, 2,000 items, limit 8"));
        Assert.Equal("weir-compare", Anchor("`weir compare`"));
    }

    private static HashSet<string> Headings(string file) =>
        [.. Heading().Matches(Fence().Replace(File.ReadAllText(file).ReplaceLineEndings("\n"), "")).Select(static m => Anchor(m.Groups[1].Value))];

    // Letters, digits, hyphens and underscores in lower case, with a hyphen for each space.
    private static string Anchor(string heading) => Other().Replace(heading.ToLowerInvariant(), "").Replace(' ', '-');

    [GeneratedRegex(@"\]\((?!\w+:)([^)\s]+)\)")]
    private static partial Regex Link();

    [GeneratedRegex(@"^```.*?^```|^(?: {4}|\t).*?$|`[^`\n]*`(?!\])", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Code();

    [GeneratedRegex("^```.*?^```", RegexOptions.Singleline | RegexOptions.Multiline)]
    private static partial Regex Fence();

    [GeneratedRegex("^#+ (.*)$", RegexOptions.Multiline)]
    private static partial Regex Heading();

    [GeneratedRegex(@"[^\p{L}\p{Nd} _-]")]
    private static partial Regex Other();
}

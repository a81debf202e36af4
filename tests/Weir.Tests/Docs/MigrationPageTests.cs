using System.Text.RegularExpressions;

namespace Weir.Tests.Docs;

/// <summary>Is every row of docs/reference/migrating-from-rivulet.md that names a test, tested by one that is there?</summary>
public partial class MigrationPageTests
{
    private static readonly string Page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "reference", "migrating-from-rivulet.md")).ReplaceLineEndings("\n");

    [Fact]
    public void Page_EachTestThatItNames_IsThere()
    {
        Dictionary<string, string> files = Directory.EnumerateFiles(Path.Combine(Repository.Root, "tests"), "*Tests.cs", SearchOption.AllDirectories)
            .Concat(Directory.EnumerateFiles(Path.Combine(Repository.Root, "tests"), "*Properties.cs", SearchOption.AllDirectories))
            .GroupBy(static path => Path.GetFileNameWithoutExtension(path))
            .ToDictionary(static g => g.Key, static g => string.Concat(g.Select(File.ReadAllText)));
        int named = 0;
        foreach (string row in Page.Split('\n').Where(static line => line.StartsWith('|')))
        {
            string last = row.TrimEnd('|', ' ').Split('|')[^1];
            string type = "";
            foreach (Match name in TestNames().Matches(last))
            {
                type = name.Groups[1].Length > 0 ? name.Groups[1].Value : type;
                Assert.True(files.ContainsKey(type), $"{name.Value}: there are no tests of this name.");
                Assert.Contains(name.Groups[2].Value, files[type], StringComparison.Ordinal);
                named++;
            }
        }

        Assert.InRange(named, 40, int.MaxValue);
    }

    [Fact]
    public void Page_EachRowOfTheTablesOfWhatDiffersIsGoneOrRefused_NamesATest()
    {
        foreach (string heading in new[] { "## What behaves differently", "## Names and types", "## What is refused now" })
        {
            string section = Page[Page.IndexOf(heading, StringComparison.Ordinal)..];
            string[] rows = [.. section.Split("\n## ")[0].Split('\n').Where(static line => line.StartsWith('|')).Skip(2)];
            Assert.NotEmpty(rows);
            Assert.All(rows, static row => Assert.True(TestNames().IsMatch(row.TrimEnd('|', ' ').Split('|')[^1]), $"No test: {row}"));
        }
    }

    // `NameTests`, `NameTests.Member_Condition_Expected`, or `…Member_Condition_Expected` for one more of the same.
    [GeneratedRegex("`(?:(\\w+(?:Tests|Properties))\\.?|…)(\\w*)`")]
    private static partial Regex TestNames();
}

using System.Net;
using System.Text.RegularExpressions;
using Weir.Site.Pages;

namespace Weir.Docs.Tests;

/// <summary>Code on the pages of the site: in colours, and with nothing lost; of many signatures, one is shown.</summary>
public sealed partial class SiteCodeTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("weir-code-").FullName;

    [Theory]
    [InlineData("csharp", "await foreach (Page page in urls.Load(5)) Show(page); // all", "k:await k:foreach t:Page k:in m:Load n:5 m:Show c:// all")]
    [InlineData("csharp", "string text = $\"a {name} b\";", "k:string s:$&quot; s:a  s: b s:&quot;")]
    [InlineData("csharp", "record Order(long Id);", "k:record t:Order k:long")]
    [InlineData("json", "{ \"MaxRetries\": 2, \"Set\": true }", "s:&quot;MaxRetries&quot; n:2 s:&quot;Set&quot; k:true")]
    [InlineData("diff", "-old\n+new", "del:-old add:+new")]
    [InlineData("text", "await 5", "")]
    public void Code_OfALanguage_IsInItsColours(string language, string code, string expected)
    {
        string page = Page($"# Page\n\n```{language}\n{code}\n```\n");
        Assert.Equal(expected, string.Join(' ', Word().Matches(page).Select(static m => $"{m.Groups[1].Value}:{m.Groups[2].Value}")));
    }

    [Fact]
    public void Code_OfEveryExample_IsWhole()
    {
        foreach (string example in DocPages.All().SelectMany(DocPages.Examples))
        {
            string page = Page($"# Page\n\n```csharp\n{example}```\n");
            string code = Code().Match(page).Groups[1].Value;
            Assert.Equal(example, WebUtility.HtmlDecode(Tag().Replace(code, "")));
        }
    }

    [Fact]
    public void Signatures_AllButTheFirst_AreFolded()
    {
        string page = Page("# Page\n\n```cs\npublic int Of(int a,\n    int b)\n[Obsolete]\npublic int Of(long a)\npublic int Of()\n```\n");
        string[] parts = page.Split("<details class=\"overloads\"><summary>2 more</summary>");
        Assert.Equal(2, parts.Length);
        Assert.Contains("b)", Tag().Replace(parts[0], ""), StringComparison.Ordinal);
        Assert.Contains("[Obsolete]\npublic int Of(long a)\npublic int Of()\n", Tag().Replace(parts[1], ""), StringComparison.Ordinal);
    }

    [Fact]
    public void Signature_OfAnEnum_IsNotFolded() =>
        Assert.DoesNotContain("overloads", Page("# Page\n\n```cs\npublic enum Mode\n{\n    One,\n}\n```\n"), StringComparison.Ordinal);

    [Fact]
    public void Contents_OfAPage_AreItsHeadings()
    {
        string page = Page("# Page\n\nText.\n\n## One\n\n### Part\n\n## Two\n");
        Assert.Matches("(?s)</h1>.*On this page.*href=\"#one\".*class=\"level3\".*href=\"#part\".*href=\"#two\".*<p>Text", page);
        Assert.DoesNotContain("On this page", Page("# Page\n\n## One\n"), StringComparison.Ordinal);
    }

    public void Dispose() => Directory.Delete(_root, recursive: true);

    private string Page(string text)
    {
        Directory.CreateDirectory(Path.Combine(_root, "samples"));
        Directory.CreateDirectory(Path.Combine(_root, "docs"));
        File.WriteAllText(Path.Combine(_root, SiteBuilder.Index), text);
        new SiteBuilder(_root).Write(Path.Combine(_root, "out"));
        return File.ReadAllText(Path.Combine(_root, "out", "docs", "index.html"));
    }

    [GeneratedRegex("<span class=\"([a-z]+)\">(.*?)</span>")]
    private static partial Regex Word();

    [GeneratedRegex("<pre><code[^>]*>(.*?)</code></pre>", RegexOptions.Singleline)]
    private static partial Regex Code();

    [GeneratedRegex("<[^>]+>")]
    private static partial Regex Tag();
}

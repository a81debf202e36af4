using System.Diagnostics;
using System.Net;
using System.Text.RegularExpressions;
using Weir.Site.Pages;
using Weir.Site.Pictures;

namespace Weir.Docs.Tests;

/// <summary>The documentation as static pages: whole, with links that lead somewhere, and searchable without a server.</summary>
public sealed partial class SiteTests(SiteTests.Built site) : IClassFixture<SiteTests.Built>
{
    [Fact]
    public void Links_OfEveryPage_LeadToAPageAndAnAnchor()
    {
        List<string> broken = [];
        Dictionary<string, HashSet<string>> anchors = site.Pages.ToDictionary(static p => p, static p => Ids(File.ReadAllText(p)));
        foreach (string page in site.Pages)
        {
            foreach (string link in Link().Matches(File.ReadAllText(page)).Select(static m => WebUtility.HtmlDecode(m.Groups[1].Value)))
            {
                if (link.Contains("://", StringComparison.Ordinal))
                {
                    continue;
                }

                string[] parts = link.Split('#');
                string target = parts[0].Length == 0 ? page : Path.GetFullPath(Path.Combine(Path.GetDirectoryName(page)!, parts[0]));
                if (!File.Exists(target) || (parts.Length > 1 && !anchors[target].Contains(parts[1])))
                {
                    broken.Add($"{Path.GetRelativePath(site.Folder, page)}: {link}");
                }
            }
        }

        Assert.Empty(broken);
        Assert.InRange(site.Pages.Length, 150, int.MaxValue);
    }

    [Fact]
    public void Pages_LoadNothingFromANetwork() =>
        Assert.All(site.Pages, static page => Assert.DoesNotMatch("""<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//""", File.ReadAllText(page)));

    [Fact]
    public void Index_ListsEveryPageOfDocs()
    {
        string index = DocPages.Read(SiteBuilder.Index);
        string docs = Path.Combine(Repository.Root, "docs");
        IEnumerable<string> pages = Directory.EnumerateFiles(docs, "*.md", SearchOption.AllDirectories)
            .Select(f => Path.GetRelativePath(docs, f).Replace('\\', '/'))
            .Where(static f => f != "README.md" && (!f.StartsWith("api/", StringComparison.Ordinal) || f == "api/README.md"));
        Assert.DoesNotContain(pages, page => !index.Contains($"]({page})", StringComparison.Ordinal));
    }

    [Fact]
    public void Menu_OfAPage_MarksWhereItIs()
    {
        string page = File.ReadAllText(Path.Combine(site.Folder, "docs", "operators", "options.html"));
        Assert.Contains("<a href=\"../../docs/operators/options.html\" aria-current=\"page\">Options</a>", page, StringComparison.Ordinal);
        Assert.Single(Regex.Matches(page, "aria-current"));
    }

    [Theory(Timeout = 120_000, Explicit = true)]
    [InlineData("breaker", "docs/resilience.html#circuit-breaker")]
    [InlineData("circuitbreaker", "docs/api/CircuitBreaker.html")]
    [InlineData("retry after http", "docs/http.html")]
    public async Task Search_InABrowserWithoutAServer_FindsThePage(string words, string address)
    {
        string? browser = Environment.GetEnvironmentVariable("WEIR_CHROMIUM") is { Length: > 0 } given ? given : "/usr/bin/chromium";
        Assert.SkipUnless(File.Exists(browser), "There is no Chromium here; .ci/chromium installs it.");
        using Process process = Process.Start(new ProcessStartInfo(
            browser,
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", $"--user-data-dir={Path.Combine(site.Folder, "profile " + words)}",
                "--virtual-time-budget=60000", "--dump-dom",
                $"file://{site.Folder}/docs/index.html?q={Uri.EscapeDataString(words)}",
            ])
        { RedirectStandardOutput = true, RedirectStandardError = true })!;
        Task<string> errors = process.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
        string page = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        await errors;
        string[] found = [.. Hit().Matches(page).Select(static m => m.Groups[1].Value)];
        Assert.Contains(found.Take(5), hit => (hit + "#").Contains(address + "#", StringComparison.Ordinal));
    }

    [Fact]
    public void Picture_IsDrawnFromTheResultsOfToday() =>
        Assert.Equal(PeersPicture.Draw(Repository.Root), DocPages.Read(PeersPicture.Path));

    [Fact]
    public void Picture_OfTheProjects_IsThatOfTheProjectFiles() =>
        Assert.Equal(ProjectsPicture.Draw(Repository.Root), DocPages.Read(ProjectsPicture.Path));

    [Fact]
    public void Table_OfPrograms_IsThatOfTheResultsOfToday() =>
        Assert.Equal(ProgramsTable.Draw(Repository.Root), DocPages.Read(ProgramsTable.Path));

    [Fact]
    public void Table_OfPrograms_HasTheFiguresOfTheResults() =>
        Assert.EndsWith(
            "| One, two | 0.52 | 0.40 to 1.25 | 0.63 | 3 | 1,235 |\n",
            ProgramsTable.Table("""
                <!-- measured DataflowProgramsBenchmarks -->
                | One, two | A_InBox | 2 ms | 1 ms..3 ms | 1 (baseline) |  | 1234.6 | 3 | 1.00 | 9 |
                | One, two | A_Weir | 1 ms | 1 ms..3 ms | 0.63 | 0.5..0.9 | 2.7 | 3 | 1.00 | 9 |

                - One, two: A_Weir takes at most 1x the processor time of A_InBox: 0.521x [0.400..1.250], met
                <!-- /measured -->
                """.ReplaceLineEndings("\n")),
            StringComparison.Ordinal);

    [Fact]
    public void Picture_ShowsWhatTheTableSays()
    {
        ResultRow[] rows = [.. ResultPage.Read("""
            <!-- measured SomeBenchmarks -->
            | case | arm | time a run | [min..max] | ratio |
            |---|---|---:|---:|---:|
            | N=1 | One | 1.50 us | 900 ns..2.00 ms | 1 (baseline) |
            |  | Two | 3.0 s | 2.9 s..3.1 s | 2.0 |
            <!-- /measured -->
            """)];
        Assert.Equal(["SomeBenchmarks, N=1, One", "SomeBenchmarks, , Two"], rows.Select(static r => $"{r.Suite}, {r.Case}, {r.Arm}"));
        Assert.Equal([1.5e-6, 900e-9, 2e-3, 3, 2.9, 3.1], rows.SelectMany(static r => new[] { r.Median, r.Least, r.Most }), Close);
    }

    [Fact]
    public void Build_LinkThatLeadsNowhere_SaysWhich()
    {
        string root = Directory.CreateTempSubdirectory("weir-site-").FullName;
        try
        {
            Directory.CreateDirectory(Path.Combine(root, "samples"));
            Directory.CreateDirectory(Path.Combine(root, "docs"));
            File.WriteAllText(Path.Combine(root, SiteBuilder.Index), "# Documentation\n\n## One\n\n- [gone](gone.md)\n");
            SiteException error = Assert.Throws<SiteException>(() => new SiteBuilder(root).Write(Path.Combine(root, "out")));
            Assert.Equal("The link gone.md of docs/README.md leads to no page of the site.", error.Message);
            Assert.False(Directory.Exists(Path.Combine(root, "out")));
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
    }

    private static bool Close(double one, double other) => Math.Abs(one - other) < 1e-9 * one;

    private static HashSet<string> Ids(string page) => [.. Id().Matches(page).Select(static m => m.Groups[1].Value)];

    [GeneratedRegex("<(?:a|link|script|img)[^>]* (?:href|src)=\"([^\"]*)\"")]
    private static partial Regex Link();

    [GeneratedRegex(" id=\"([^\"]*)\"")]
    private static partial Regex Id();

    [GeneratedRegex("<a href=\"([^\"]*)\" role=\"option\"")]
    private static partial Regex Hit();

    /// <summary>The site, made once for all tests.</summary>
    public sealed class Built : IDisposable
    {
        public Built() => new SiteBuilder(Repository.Root).Write(Folder);

        public string Folder { get; } = Directory.CreateTempSubdirectory("weir-site-").FullName;

        public string[] Pages => Directory.GetFiles(Folder, "*.html", SearchOption.AllDirectories);

        public void Dispose() => Directory.Delete(Folder, recursive: true);
    }
}

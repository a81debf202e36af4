using Microsoft.Playwright;
using Weir.Cli.Tests.Support;
using Weir.Lab.Report.Page;

namespace Weir.Cli.Tests.Report.Page;

public class PageInBrowserTests(Browser browser) : IClassFixture<Browser>
{
    private static readonly string[] Sections =
    [
        "ratio", "comparisons", "scaling-law", "arms-operations-per-second", "latency", "in-flight-and-cost", "findings",
        "throughput", "spectrum", "distribution", "depth", "rounds", "timeline", "workers", "environment", "data",
    ];

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(390, ColorScheme.Light)]
    [InlineData(390, ColorScheme.Dark)]
    [InlineData(1440, ColorScheme.Light)]
    [InlineData(1440, ColorScheme.Dark)]
    public async Task Page_InABrowser_HasAllSectionsSideByNone(int width, ColorScheme colours)
    {
        using TemporaryFile file = new(HtmlPage.Write([SampleResults.Scaling()]), ".html");
        IPage page = await browser.OpenAsync(width, colours);
        List<string> troubles = [];
        page.Console += (_, message) => troubles.Add($"{message.Type}: {message.Text}");
        page.PageError += (_, error) => troubles.Add(error);
        page.Request += (_, request) =>
        {
            if (!request.Url.StartsWith("file:", StringComparison.Ordinal) && !request.Url.StartsWith("data:", StringComparison.Ordinal))
            {
                troubles.Add($"it asks for {request.Url}");
            }
        };

        await page.GotoAsync("file://" + file.Path);
        await page.ScreenshotAsync(new PageScreenshotOptions
        {
            Path = Path.Combine(Browser.Screenshots, $"report-{width}-{colours.ToString().ToLowerInvariant()}.png"), FullPage = true,
        });

        Assert.Empty(troubles);
        double bottom = 0;
        foreach (string section in Sections)
        {
            LocatorBoundingBoxResult? box = await page.Locator($"section#{section}").BoundingBoxAsync();
            Assert.True(box is { Width: > 200, Height: > 40 }, $"{section} is not to be seen");
            Assert.True(box.Y >= bottom - 0.5, $"{section} begins at {box.Y}, above the end of the one before it at {bottom}");
            Assert.True(box.X >= 0 && box.X + box.Width <= width + 0.5, $"{section} does not fit");
            bottom = box.Y + box.Height;
        }

        Assert.Equal(Sections.Length, await page.Locator("section").CountAsync());
        Assert.Equal(width, await page.EvaluateAsync<int>("document.documentElement.scrollWidth"));
        await page.CloseAsync();
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(390)]
    [InlineData(1440)]
    public async Task Plots_InABrowser_KeepTheirTextInsideAndReadable(int width)
    {
        using TemporaryFile file = new(HtmlPage.Write([SampleResults.Scaling(), SampleResults.Undecided()]), ".html");
        IPage page = await browser.OpenAsync(width, ColorScheme.Light);
        await page.GotoAsync("file://" + file.Path);

        string[] wrong = await page.EvaluateAsync<string[]>("""
            () => {
              const wrong = [];
              for (const svg of document.querySelectorAll('.plot svg')) {
                const outer = svg.getBoundingClientRect();
                if (outer.width === 0) continue;
                const scale = outer.width / svg.viewBox.baseVal.width;
                if (12 * scale < 11) wrong.push(svg.querySelector('title').textContent + ': letters of ' + 12 * scale + ' px');
                for (const text of svg.querySelectorAll('text')) {
                  const box = text.getBoundingClientRect();
                  if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 || box.bottom > outer.bottom + 1)
                    wrong.push(svg.querySelector('title').textContent + ': ' + text.textContent);
                }
              }
              return wrong;
            }
            """);

        Assert.Empty(wrong);
        Assert.True(await page.Locator(".plot:visible svg").CountAsync() >= 6);
        await page.CloseAsync();
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Plots_ForAScreenReader_HaveNamesAndTables()
    {
        using TemporaryFile file = new(HtmlPage.Write([SampleResults.Scaling()]), ".html");
        IPage page = await browser.OpenAsync(1440, ColorScheme.Light);
        await page.GotoAsync("file://" + file.Path);

        foreach (ILocator figure in await page.Locator("section:has(figure)").AllAsync())
        {
            Assert.NotEqual("", await figure.Locator(".plot:visible svg > title").First.TextContentAsync());
            ILocator details = figure.Locator("details");
            await details.Locator("summary").ClickAsync();
            Assert.True(await details.Locator("table tbody tr").First.IsVisibleAsync());
            Assert.NotEqual("", await details.Locator("table caption").TextContentAsync());
        }

        // Each drawing is named by elements that are there.
        Assert.Equal(0, await page.EvaluateAsync<int>("[...document.querySelectorAll('[aria-labelledby]')].filter(e => "
            + "e.getAttribute('aria-labelledby').split(' ').some(i => !document.getElementById(i))).length"));
        Assert.Equal(
            0, await page.EvaluateAsync<int>("[...document.querySelectorAll('[id]')].filter((e, _, all) => all.filter(o => o.id === e.id).length > 1).length"));
        await page.CloseAsync();
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(390, ColorScheme.Light, "single")]
    [InlineData(390, ColorScheme.Dark, "undecided")]
    [InlineData(1280, ColorScheme.Light, "undecided")]
    [InlineData(1280, ColorScheme.Dark, "single")]
    public async Task Page_OfOneNumberOfWorkers_ShowsTheFindingFirstAndNoPlotOfOneDot(int width, ColorScheme colours, string which)
    {
        using TemporaryFile file = new(HtmlPage.Write([which == "single" ? SampleResults.Single() : SampleResults.Undecided()]), ".html");
        IPage page = await browser.OpenAsync(width, colours);
        await page.GotoAsync("file://" + file.Path);
        await page.ScreenshotAsync(new PageScreenshotOptions
        {
            Path = Path.Combine(Browser.Screenshots, $"report-{which}-{width}-{colours.ToString().ToLowerInvariant()}.png"), FullPage = true,
        });

        LocatorBoundingBoxResult? first = await page.Locator("main h1").BoundingBoxAsync();
        LocatorBoundingBoxResult? lead = await page.Locator(".lead").BoundingBoxAsync();
        Assert.True(first!.Y < 60, $"The answer begins at {first.Y}, below something else.");
        Assert.True(lead!.Y + lead.Height < 844, $"The answer ends at {lead.Y + lead.Height}, below the first screen of a phone.");
        Assert.DoesNotContain("INCONCLUSIVE", await page.Locator("main h1").TextContentAsync(), StringComparison.Ordinal);
        Assert.Equal(0, await page.Locator("section#throughput, section#depth").CountAsync());
        Assert.True(await page.Locator("section#rates .plot:visible svg .ring").CountAsync() >= 6);
        Assert.True(await page.Locator("section#distribution .plot:visible svg .area").CountAsync() >= 1);
        Assert.Equal(which == "single" ? 0 : 1, await page.Locator("section#ratio .plot:visible svg .zone").CountAsync());
        Assert.Equal(width, await page.EvaluateAsync<int>("document.documentElement.scrollWidth"));
        await page.CloseAsync();
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(390, ColorScheme.Light)]
    [InlineData(1280, ColorScheme.Dark)]
    public async Task Page_OfAProfile_ScrollsTheFlameGraphAndNotThePage(int width, ColorScheme colours)
    {
        using TemporaryFile file = new(HtmlPage.Write([Profiling.ProfileReportTests.Result()]), ".html");
        IPage page = await browser.OpenAsync(width, colours);
        await page.GotoAsync("file://" + file.Path);
        await page.ScreenshotAsync(new PageScreenshotOptions
        {
            Path = Path.Combine(Browser.Screenshots, $"report-profile-{width}-{colours.ToString().ToLowerInvariant()}.png"), FullPage = true,
        });

        Assert.Equal(5, await page.Locator("#profile-1 .flame rect:visible").CountAsync());
        Assert.Equal(width < 640, await page.EvaluateAsync<bool>("(e => e.scrollWidth > e.clientWidth)(document.querySelector('#profile-1 .flame'))"));
        Assert.Equal(width, await page.EvaluateAsync<int>("document.documentElement.scrollWidth"));
        await page.CloseAsync();
    }

    [Fact(Timeout = 300_000, Explicit = true)]
    public async Task Legends_OfFiguresWithDashedLines_NameThem()
    {
        using TemporaryFile file = new(HtmlPage.Write([SampleResults.Scaling()]), ".html");
        IPage page = await browser.OpenAsync(1280, ColorScheme.Light);
        await page.GotoAsync("file://" + file.Path);

        foreach (ILocator figure in await page.Locator("section:has(figure):has(.plot svg .line.dashed)").AllAsync())
        {
            Assert.True(await figure.Locator(".legend .line.dashed").CountAsync() > 0, await figure.Locator("h2").TextContentAsync());
        }

        await page.CloseAsync();
    }

    [Theory(Timeout = 300_000, Explicit = true, DisableDiscoveryEnumeration = true)]
    [InlineData(390)]
    [InlineData(1440)]
    public async Task Page_OfSeveralResults_StandsOneBelowTheOther(int width)
    {
        using TemporaryFile file = new(HtmlPage.Write([SampleResults.Invalid(), SampleResults.Scaling()]), ".html");
        IPage page = await browser.OpenAsync(width, ColorScheme.Light);

        await page.GotoAsync("file://" + file.Path);
        await page.ScreenshotAsync(new PageScreenshotOptions { Path = Path.Combine(Browser.Screenshots, $"report-several-{width}.png"), FullPage = true });

        Assert.StartsWith("Cannot say", await page.Locator("#r1-answer h2").TextContentAsync(), StringComparison.Ordinal);
        LocatorBoundingBoxResult? first = await page.Locator("#r1-data").BoundingBoxAsync();
        LocatorBoundingBoxResult? second = await page.Locator("#r2-answer").BoundingBoxAsync();
        Assert.True(first!.Y + first.Height <= second!.Y);
        Assert.Equal(width, await page.EvaluateAsync<int>("document.documentElement.scrollWidth"));
        await page.CloseAsync();
    }
}

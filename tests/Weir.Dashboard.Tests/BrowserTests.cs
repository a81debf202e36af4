using System.Threading.Tasks.Dataflow;
using Microsoft.AspNetCore.Builder;
using Microsoft.Playwright;
using Weir.Cli.Tests.Report.Page;

namespace Weir.Dashboard.Tests;

/// <summary>The page in a browser. Where there is none, these are skipped and say why.</summary>
public class BrowserTests(Browser browser) : IClassFixture<Browser>
{
    private const string Hostile = "<script>hacked=1</script><img src=x onerror=hacked=1>\u202Egnitset\"'`";

    public static TheoryData<string, int, ColorScheme> Views()
    {
        TheoryData<string, int, ColorScheme> all = [];
        foreach (string view in (string[])["overview", "runs", "networks", "policies", "queues", "entry", "letters"])
        {
            all.Add(view, 390, ColorScheme.Dark);
            all.Add(view, 1280, ColorScheme.Light);
        }

        return all;
    }

    [Theory(Timeout = 120_000)]
    [MemberData(nameof(Views))]
    public async Task AView_WithHostileTexts_ShowsThemAsText_FitsAndAsksForNothingElse(string view, int width, ColorScheme colours)
    {
        string name = $"{view} {width} {Hostile}";
        (_, Task run, TaskCompletionSource gate) = Things.Run(name + new string('x', 1_000_000));
        (MemoryWorkQueue<string> queue, WorkGauges gauges) =
            await Things.QueueAsync(name, ("a", DeadLetterReason.Failed, Hostile + "\n   at " + new string('y', 1_000_000), Hostile));
        CircuitBreaker breaker = new(new CircuitBreakerOptions { Name = name });
        breaker.Isolate(new InvalidOperationException(Hostile));
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(static options =>
        {
            Site.ForOperators(options);
            options.Title = Hostile;
            options.DescribeItem = static (_, bytes) => System.Text.Encoding.UTF8.GetString(bytes.Span);
        }))
        {
            (IPage page, List<string> troubles) = await OpenAsync(site, width, colours, user: "ada:operators");
            string id = Things.IdOf(name, view == "letters" ? LiveKind.Queue : LiveKind.Breaker);
            await page.GotoAsync($"{site.Address}weir?view={view}&id={id}");
            await page.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
            await page.ScreenshotAsync(new() { Path = Path.Combine(Browser.Screenshots, $"dashboard-{view}-{width}.png"), FullPage = true });

            Assert.Empty(troubles);
            Assert.Null(await page.EvaluateAsync<object?>("window.hacked"));
            Assert.Equal(0, await page.Locator("img").CountAsync());
            Assert.Equal(1, await page.Locator("script").CountAsync());
            Assert.True(await page.EvaluateAsync<int>("document.documentElement.scrollWidth") <= width, "the page is wider than its window");
            Assert.Contains("<script>hacked", await page.Locator("h1").InnerTextAsync(), StringComparison.Ordinal);
            string content = await page.ContentAsync();
            Assert.DoesNotContain(new string('x', 301), content, StringComparison.Ordinal);
            Assert.DoesNotContain(new string('y', 10_001), content, StringComparison.Ordinal);
            await page.CloseAsync();
        }

        GC.KeepAlive(breaker);
        gate.SetResult();
        await run.WithinAsync();
    }

    [Theory(Timeout = 120_000)]
    [InlineData(LiveKind.Run, "Rate a second over 20 s")]
    [InlineData(LiveKind.Limit, "In use over 30 s")]
    [InlineData(LiveKind.Breaker, "State over 30 s")]
    [InlineData(LiveKind.Queue, "Backlog over 30 s")]
    public async Task ThePictureOfTheLastHour_FitsAPhoneAndIsSaidInWords(LiveKind kind, string expected)
    {
        string name = $"on a phone {kind}";
        ManualTimeProvider time = new();
        (_, Task run, TaskCompletionSource gate) = Things.Run(name);
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync(name);
        SharedConcurrencyLimit limit = new(2) { Name = name };
        CircuitBreaker breaker = new(new CircuitBreakerOptions { Name = name });
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(options => options.TimeProvider = time))
        {
            foreach (int _ in Enumerable.Range(0, 3))
            {
                time.Advance(TimeSpan.FromSeconds(10));
            }

            (IPage page, List<string> troubles) = await OpenAsync(site, 390, ColorScheme.Dark);
            await page.GotoAsync($"{site.Address}weir?view=entry&id={Things.IdOf(name, kind)}");
            await page.Locator("#entry p svg").First.WaitForAsync();
            Assert.StartsWith(expected, await page.Locator("#entry p .soft").First.InnerTextAsync(), StringComparison.Ordinal);
            await page.ScreenshotAsync(new() { Path = Path.Combine(Browser.Screenshots, $"dashboard-phone-{kind}.png"), FullPage = true });
            Assert.True(await page.EvaluateAsync<int>("document.documentElement.scrollWidth") <= 390, "the page is wider than its window");
            Assert.True(await page.EvaluateAsync<bool>("[...document.querySelectorAll('.scroll')].every(box => box.scrollWidth <= box.clientWidth)"), "a table is wider than its window");
            Assert.Empty(troubles);
            await page.CloseAsync();
        }

        GC.KeepAlive(limit);
        GC.KeepAlive(breaker);
        gate.SetResult();
        await run.WithinAsync();
    }

    [Fact(Timeout = 120_000)]
    public async Task AButton_ActsAndThePageShowsIt_InTwoBrowsers()
    {
        ManualTimeProvider time = new();
        (RunControl control, Task run, TaskCompletionSource gate) = Things.Run("pressed");
        await using Site site = await Site.StartAsync(options =>
        {
            Site.ForOperators(options);
            options.TimeProvider = time;
        });
        string address = $"{site.Address}weir?view=entry&id={Things.IdOf("pressed", LiveKind.Run)}";
        (IPage first, List<string> troubles) = await OpenAsync(site, 1280, ColorScheme.Light, "ada:operators");
        (IPage second, _) = await OpenAsync(site, 390, ColorScheme.Dark, "bob");
        await NoteDrawingsAsync(first, "value=\"9\"");
        await first.GotoAsync(address);
        await second.GotoAsync(address);
        await first.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
        await second.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
        Assert.Equal(0, await second.Locator("button").CountAsync());

        await first.GetByRole(AriaRole.Button, new() { Name = "Pause" }).ClickAsync();
        await first.Locator("#result", new() { HasText = "is paused." }).WaitForAsync();
        Assert.True(control.IsPaused);
        Look(time);
        await first.GetByRole(AriaRole.Button, new() { Name = "Resume" }).WaitForAsync();
        await second.Locator(".state", new() { HasText = "paused" }).WaitForAsync();

        // By keyboard; and what is being typed is not drawn over.
        ILocator limit = first.Locator("input[name=limit]");
        await limit.FillAsync("17");
        control.MaxDegreeOfParallelism = 9;
        Look(time);
        await NotedAsync(first, 0);
        Assert.Equal("17", await limit.InputValueAsync());
        await limit.PressAsync("Enter");
        await first.Locator("#result", new() { HasText = "is limited to 17." }).WaitForAsync();
        Assert.Equal(17, control.MaxDegreeOfParallelism);

        // A question that is answered with no does nothing.
        first.Dialog += (_, dialog) => _ = dialog.DismissAsync();
        await first.GetByRole(AriaRole.Button, new() { Name = "Stop gracefully" }).ClickAsync();
        Assert.False(control.IsStopped);
        Assert.Empty(troubles);
        await first.CloseAsync();
        await second.CloseAsync();
        control.Resume();
        gate.SetResult();
        await run.WithinAsync();
    }

    [Fact(Timeout = 120_000)]
    public async Task HeldStill_ThePageDoesNotChange_AndThenHasAllThatChangedMeanwhile()
    {
        ManualTimeProvider time = new();
        SharedConcurrencyLimit first = new(11) { Name = "held first" };
        await using Site site = await Site.StartAsync(options => options.TimeProvider = time);
        (IPage page, List<string> troubles) = await OpenAsync(site, 1280, ColorScheme.Light);
        await NoteDrawingsAsync(page, ">77<", "held second");
        await page.GotoAsync($"{site.Address}weir");
        await page.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
        ILocator row = page.Locator("tr", new() { HasText = "held first" });
        Assert.Contains("11", await row.InnerTextAsync(), StringComparison.Ordinal);
        await page.GetByLabel("hold still").CheckAsync();

        // It changes in one look, and another section in a later one, in which the first is the same.
        first.Limit = 77;
        Look(time);
        await NotedAsync(page, 0);
        (_, Task run, TaskCompletionSource gate) = Things.Run("held second");
        Look(time);
        await NotedAsync(page, 1);
        Assert.DoesNotContain("77", await row.InnerTextAsync(), StringComparison.Ordinal);
        Assert.Equal(0, await page.Locator("tr", new() { HasText = "held second" }).CountAsync());
        await page.GetByLabel("hold still").UncheckAsync();
        await page.Locator("tr", new() { HasText = "held second" }).WaitForAsync();
        Assert.Contains("77", await row.InnerTextAsync(), StringComparison.Ordinal);
        Assert.Equal(0, await page.Locator("[data-same]").CountAsync());
        Assert.Empty(troubles);
        await page.CloseAsync();
        GC.KeepAlive(first);
        gate.SetResult();
        await run.WithinAsync();
    }

    [Fact(Timeout = 120_000)]
    public async Task WithoutScript_ThePageIsWholeAndItsFormsWork()
    {
        (RunControl control, Task run, TaskCompletionSource gate) = Things.Run("plain");
        await using Site site = await Site.StartAsync(Site.ForOperators);
        (IPage page, _) = await OpenAsync(site, 800, ColorScheme.Light, "ada:operators", hasScript: false);
        await page.GotoAsync($"{site.Address}weir?view=runs&q=plain");
        Assert.Equal(1, await page.Locator("td.name").CountAsync());
        await page.GetByRole(AriaRole.Button, new() { Name = "Pause" }).ClickAsync();
        Assert.True(control.IsPaused);
        Assert.EndsWith("is paused.", await page.Locator("#result").InnerTextAsync(), StringComparison.Ordinal);
        await page.GetByRole(AriaRole.Link, new() { Name = "plain" }).ClickAsync();
        Assert.Contains("paused", await page.Locator("h2").InnerTextAsync(), StringComparison.Ordinal);
        await page.CloseAsync();
        control.Resume();
        gate.SetResult();
        await run.WithinAsync();
    }

    [Fact(Timeout = 120_000)]
    public async Task ARestart_WhileThePageIsOpen_IsToldAndOver()
    {
        Site site = await Site.StartAsync();
        string url = site.Address.ToString();
        (IPage page, _) = await OpenAsync(site, 1280, ColorScheme.Light);
        await page.GotoAsync($"{url}weir");
        await page.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
        await site.DisposeAsync();
        await page.Locator("#connection", new() { HasText = "No connection, trying again" }).WaitForAsync();
        SharedConcurrencyLimit shared = new(2) { Name = "after the restart" };
        await using Site again = await Site.StartAsync(url: url);
        await page.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
        await page.Locator("td", new() { HasText = "after the restart" }).WaitForAsync();
        Assert.Equal(2, shared.Limit);
        await page.CloseAsync();
    }

    [Fact(Timeout = 120_000)]
    public async Task UnderAPathBase_AllOfItWorks()
    {
        SharedConcurrencyLimit shared = new(2) { Name = "under a base" };
        await using Site site = await Site.StartAsync(Site.ForOperators, use: static app => app.UsePathBase("/tools/x"));
        (IPage page, List<string> troubles) = await OpenAsync(site, 1280, ColorScheme.Light, "ada:operators");
        await page.GotoAsync($"{site.Address}tools/x/weir?view=policies");
        await page.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
        await page.GetByRole(AriaRole.Link, new() { Name = "under a base" }).ClickAsync();
        await page.Locator("input[name=limit]").FillAsync("5");
        await page.GetByRole(AriaRole.Button, new() { Name = "Set limit" }).ClickAsync();
        await page.Locator("#result", new() { HasText = "is limited to 5." }).WaitForAsync();
        Assert.Equal(5, shared.Limit);
        Assert.StartsWith("/tools/x/weir", new Uri(page.Url).AbsolutePath, StringComparison.Ordinal);
        Assert.Empty(troubles);
        await page.CloseAsync();
    }

    [Fact(Timeout = 120_000)]
    public async Task TenThousandRunsAndFiveHundredBlocks_AreUsable()
    {
        TaskCompletionSource gate = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Task[] runs = [.. Enumerable.Range(0, 10_000).Select(number => new[] { number }.ForEachParallelAsync(
            async (_, token) => await gate.Task.WaitAsync(token), new ParallelRunOptions { OperationName = $"many {number}" }, TestContext.Current.CancellationToken))];
        List<Dataflow.TransformBlock<int, int>> blocks = [.. Enumerable.Range(0, 500).Select(static number =>
            new Dataflow.TransformBlock<int, int>(static message => message, new ExecutionDataflowBlockOptions { NameFormat = $"block {number}" }))];
        foreach ((Dataflow.TransformBlock<int, int> from, int number) in blocks.Select(static (block, number) => (block, number)).Skip(1))
        {
            blocks[(number - 1) / 2].LinkTo(from);
        }

        blocks.ForEach(static block => block.Post(1));
        await using Site site = await Site.StartAsync();
        (IPage page, List<string> troubles) = await OpenAsync(site, 1280, ColorScheme.Light);
        await page.GotoAsync($"{site.Address}weir?view=runs");
        Assert.Equal(101, await page.Locator("#runs tr").CountAsync());
        Assert.Contains("100 of 10,", await page.Locator("caption").InnerTextAsync(), StringComparison.Ordinal);
        await page.GetByLabel("Name or type").FillAsync("many 9876");
        await page.GetByRole(AriaRole.Button, new() { Name = "Search" }).ClickAsync();
        Assert.Equal("many 9876", await page.Locator("td.name a").InnerTextAsync());
        await page.GotoAsync($"{site.Address}weir?view=networks");
        await page.Locator("#connection", new() { HasText = "Live" }).WaitForAsync();
        Assert.Equal(500, await page.Locator("svg g").CountAsync());
        Assert.True(await page.EvaluateAsync<int>("document.documentElement.scrollWidth") <= 1280);
        Assert.Empty(troubles);
        await page.CloseAsync();
        GC.KeepAlive(blocks);
        gate.SetResult();
        await Task.WhenAll(runs).WithinAsync();
    }

    /// <summary>The watch of the page looks, and its streams are sent what it has seen. Which of the two is first in one step is not known.</summary>
    private static void Look(ManualTimeProvider time)
    {
        time.Advance(TimeSpan.FromMilliseconds(500));
        time.Advance(TimeSpan.FromMilliseconds(500));
    }

    /// <summary>From now on, a page notes each of some texts once its script has dealt with a drawing that has it.</summary>
    private static Task NoteDrawingsAsync(IPage page, params string[] texts) => page.AddInitScriptAsync($$"""
        window.EventSource = class extends EventSource {
          set onmessage(draw) {
            super.onmessage = event => {
              draw(event);
              {{System.Text.Json.JsonSerializer.Serialize(texts)}}.forEach((text, i) => { if (event.data.includes(text)) document.documentElement.dataset['noted' + i] = ''; });
            };
          }
        };
        """);

    private static Task NotedAsync(IPage page, int text) => page.Locator($"html[data-noted{text}]").WaitForAsync();

    private async Task<(IPage Page, List<string> Troubles)> OpenAsync(
        Site site, int width, ColorScheme colours, string? user = null, bool hasScript = true)
    {
        IPage page = await browser.OpenAsync(new BrowserNewPageOptions
        {
            ViewportSize = new ViewportSize { Width = width, Height = 900 },
            ColorScheme = colours,
            JavaScriptEnabled = hasScript,
            ExtraHTTPHeaders = user is null ? null : [KeyValuePair.Create("X-User", user)],
        });
        page.SetDefaultTimeout(60_000);
        List<string> troubles = [];
        page.Console += (_, message) => troubles.Add($"{message.Type}: {message.Text}");
        page.PageError += (_, error) => troubles.Add(error);
        page.Request += (_, request) =>
        {
            if (!request.Url.StartsWith(site.Address.ToString(), StringComparison.Ordinal))
            {
                troubles.Add($"it asks for {request.Url}");
            }
        };
        return (page, troubles);
    }
}

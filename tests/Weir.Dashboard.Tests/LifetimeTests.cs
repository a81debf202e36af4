using System.Net.Http.Headers;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Routing;

namespace Weir.Dashboard.Tests;

/// <summary>What the page leaves in a process whose application has ended, in any way: nothing. Watches and streams have timers of the page's clock, which are counted.</summary>
public class LifetimeTests
{
    /// <summary>A watch has one for its looks and one for its samples.</summary>
    private const int TimersOfAWatch = 2;

    private readonly ManualTimeProvider _time = new();

    [Theory(Timeout = 60_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Disposed_WithoutAStop_NothingIsLeft(bool isInGroup)
    {
        await using (WebApplication app = Build(isInGroup))
        {
            await app.StartAsync(TestContext.Current.CancellationToken);
            Assert.Equal(TimersOfAWatch, _time.LiveTimers);
            await GetAsync(app, isInGroup);
            Assert.Equal(TimersOfAWatch, _time.LiveTimers);
        }

        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 60_000)]
    public async Task Disposed_WithAStreamOpen_NothingIsLeft()
    {
        WebApplication app = Build();
        await app.StartAsync(TestContext.Current.CancellationToken);
        using HttpClient client = new();
        using HttpRequestMessage request = new(HttpMethod.Get, app.Urls.First() + "/weir");
        request.Headers.Accept.Add(new MediaTypeWithQualityHeaderValue("text/event-stream"));
        using HttpResponseMessage response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, TestContext.Current.CancellationToken);
        await using Stream stream = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
        Assert.NotEqual(0, await stream.ReadAsync(new byte[16], TestContext.Current.CancellationToken));
        Assert.Equal(TimersOfAWatch + 1, _time.LiveTimers);
        await app.DisposeAsync().AsTask().WithinAsync("the end of an application that somebody looks at");
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 60_000)]
    public async Task Stopped_NothingIsLeft()
    {
        await using WebApplication app = Build();
        await app.StartAsync(TestContext.Current.CancellationToken);
        await GetAsync(app);
        await app.StopAsync(TestContext.Current.CancellationToken);
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 60_000)]
    public async Task NeverStarted_NothingBegins()
    {
        await using WebApplication app = Build();
        Assert.Equal(0, _time.LiveTimers);
    }

    [Fact(Timeout = 60_000)]
    public async Task NobodyLooks_TheHistoryGoesOnAtTenSeconds()
    {
        await using WebApplication app = Build();
        await app.StartAsync(TestContext.Current.CancellationToken);
        Assert.Equal((1, TimeSpan.FromSeconds(10)), (_time.ArmedTimers, _time.NextDue));
        await GetAsync(app);
        Assert.True(_time.IsArmedFor(TimeSpan.FromMilliseconds(500)));
        _time.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal((1, TimeSpan.FromSeconds(20)), (_time.ArmedTimers, _time.NextDue));
    }

    private static async Task GetAsync(WebApplication app, bool isInGroup = false)
    {
        using HttpClient client = new();
        Assert.Contains("<h2>Now</h2>", await client.GetStringAsync(app.Urls.First() + (isInGroup ? "/ops/weir" : "/weir"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
    }

    private WebApplication Build(bool isInGroup = false)
    {
        WebApplication app = Site.Build();
        app.Urls.Add("http://127.0.0.1:0");
        IEndpointRouteBuilder endpoints = isInGroup ? app.MapGroup("/ops") : app;
        endpoints.MapWeir("/weir", options => options.TimeProvider = _time);
        return app;
    }
}

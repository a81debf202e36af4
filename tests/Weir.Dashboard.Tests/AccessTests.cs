using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace Weir.Dashboard.Tests;

/// <summary>Who may see the page, and who may act.</summary>
public class AccessTests
{
    [Fact(Timeout = 60_000)]
    public async Task NoPolicy_FromThisMachine_AnswersIt()
    {
        await using Site site = await Site.StartAsync();
        (int status, string page) = await site.GetAsync();
        Assert.Equal(200, status);
        Assert.Contains("<h2>Now</h2>", page, StringComparison.Ordinal);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("X-Forwarded-For", "203.0.113.7")]
    [InlineData("Forwarded", "for=203.0.113.7")]
    [InlineData("X-Real-IP", "203.0.113.7")]
    [InlineData("Via", "1.1 proxy")]
    [InlineData("Host", "weir.example")]
    public async Task NoPolicy_ThroughAProxyOrUnderAnotherName_IsRefused(string header, string value)
    {
        await using Site site = await Site.StartAsync();
        (int status, string text) = await site.GetAsync(headers: (header, value));
        Assert.Equal(403, status);
        Assert.StartsWith("This page answers to its own machine alone.", text, StringComparison.Ordinal);
        (status, _) = await site.GetAsync(accept: "application/json", headers: (header, value));
        Assert.Equal(403, status);
        (status, _) = await site.GetAsync(accept: "text/event-stream", headers: (header, value));
        Assert.Equal(403, status);
    }

    [Fact(Timeout = 60_000)]
    public async Task NoPolicy_FromAnotherMachine_IsRefused()
    {
        await using Site site = await Site.StartAsync(use: static app => app.Use((context, next) =>
        {
            context.Connection.RemoteIpAddress = System.Net.IPAddress.Parse("203.0.113.7");
            return next();
        }));
        Assert.Equal(403, (await site.GetAsync()).Status);
    }

    [Fact(Timeout = 60_000)]
    public async Task AllowAnonymous_IsNoPolicy()
    {
        await using Site site = await Site.StartAsync(static options => options.Policy = "viewers", map: static mapped => mapped.AllowAnonymous());
        Assert.Equal(403, (await site.GetAsync(headers: ("X-Forwarded-For", "203.0.113.7"))).Status);
        Assert.Equal(200, (await site.GetAsync()).Status);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task APolicy_LetsInWhomItWants_FromAnywhere(bool isOption)
    {
        await using Site site = isOption
            ? await Site.StartAsync(static options => options.Policy = "viewers")
            : await Site.StartAsync(map: static mapped => mapped.RequireAuthorization("viewers"));
        Assert.Equal(401, (await site.GetAsync()).Status);
        Assert.Equal(200, (await site.GetAsync(user: "ada", headers: [("X-Forwarded-For", "203.0.113.7"), ("Host", "weir.example")])).Status);
    }

    [Fact(Timeout = 60_000)]
    public async Task AllowActions_WithoutAPolicy_IsRefusedAtTheCall()
    {
        await using WebApplication app = Site.Build();
        ArgumentException error = Assert.ThrowsAny<ArgumentException>(() => app.MapWeir("/weir", static options => options.AllowActions = true));
        Assert.Equal("AllowActions needs ActionPolicy or Policy: the name of the policy of who may act.", error.Message);
    }

    [Fact(Timeout = 60_000)]
    public async Task Services_ThatAreMissing_AreNamedAtTheCall()
    {
        await using WebApplication app = Site.Build(hasServices: false);
        app.MapWeir("/plain");
        Assert.Contains("AddAuthorization", Assert.Throws<InvalidOperationException>(() => app.MapWeir("/a", static options => options.Policy = "viewers")).Message, StringComparison.Ordinal);
        Assert.Contains("AddAuthorization", Assert.Throws<InvalidOperationException>(() => app.MapWeir("/b", Site.ForOperators)).Message, StringComparison.Ordinal);
    }

    [Theory(Timeout = 60_000)]
    [InlineData("")]
    [InlineData("MaxSearched")]
    public async Task Options_OutOfRange_AreNamed(string which)
    {
        await using WebApplication app = Site.Build();
        ArgumentException error = Assert.ThrowsAny<ArgumentException>(() => app.MapWeir("/weir", options =>
        {
            options.Policy = which.Length == 0 ? "" : null;
            options.MaxSearched = which.Length == 0 ? 1 : 0;
        }));
        Assert.StartsWith(which.Length == 0 ? "Policy must not be empty" : "MaxSearched must be at least 1.", error.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = 60_000)]
    public async Task Buttons_AreThereForWhoMayAct_AndForNobodyElse()
    {
        (_, Task run, TaskCompletionSource gate) = Things.Run("buttons");
        string query = $"?view=entry&id={Things.IdOf("buttons", LiveKind.Run)}";
        await using Site site = await Site.StartAsync(Site.ForOperators);
        Assert.Contains("Stop gracefully", (await site.GetAsync(query, "ada:operators")).Text, StringComparison.Ordinal);
        Assert.DoesNotContain("method=\"post\"", (await site.GetAsync(query, "ada")).Text, StringComparison.Ordinal);
        Assert.DoesNotContain("method=\"post\"", (await site.GetAsync(query)).Text, StringComparison.Ordinal);
        await using Site plain = await Site.StartAsync();
        Assert.DoesNotContain("method=\"post\"", (await plain.GetAsync(query, "ada:operators")).Text, StringComparison.Ordinal);
        gate.SetResult();
        await run.WithinAsync();
    }

    [Theory(Timeout = 60_000)]
    [InlineData("ada", 403, "You may see this page, and not act on it.")]
    [InlineData("ada:operators", 400, "The form is too old, or not of this page: load the page again.")]
    [InlineData(null, 403, "You may see this page, and not act on it.")]
    public async Task AForm_OfSomebodyElseOrWithoutToken_DoesNothing(string? user, int expected, string text)
    {
        (RunControl control, Task run, TaskCompletionSource gate) = Things.Run("without token");
        await using Site site = await Site.StartAsync(Site.ForOperators);
        using HttpRequestMessage request = new(HttpMethod.Post, "/weir")
        {
            Content = new FormUrlEncodedContent([new("do", "pause"), new("id", Things.IdOf("without token", LiveKind.Run))]),
        };
        Assert.Equal((expected, text), await site.SendAsync(request, user));
        Assert.False(control.IsPaused);
        gate.SetResult();
        await run.WithinAsync();
    }

    [Fact(Timeout = 60_000)]
    public async Task AForm_WhereActionsAreNotAllowed_DoesNothing()
    {
        await using Site site = await Site.StartAsync();
        using HttpRequestMessage request = new(HttpMethod.Post, "/weir") { Content = new FormUrlEncodedContent([new("do", "pause"), new("id", "run-1")]) };
        Assert.Equal((403, "This page allows no actions."), await site.SendAsync(request, "ada:operators"));
    }

    [Fact(Timeout = 60_000)]
    public async Task Headers_LetNothingInFromElsewhere()
    {
        await using Site site = await Site.StartAsync(Site.ForOperators);
        using HttpRequestMessage request = new(HttpMethod.Get, "/weir");
        request.Headers.Add("X-User", "ada:operators");
        using HttpResponseMessage response = await site.Client.SendAsync(request, TestContext.Current.CancellationToken);
        string page = await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
        string policy = Assert.Single(response.Headers.GetValues("Content-Security-Policy"));
        Assert.StartsWith("default-src 'none'; script-src 'nonce-", policy, StringComparison.Ordinal);
        Assert.DoesNotContain("unsafe", policy, StringComparison.Ordinal);
        string nonce = policy.Split("'nonce-")[1].Split('\'')[0];
        Assert.Equal(2, page.Split($"nonce=\"{nonce}\"").Length - 1);
        Assert.Equal("no-cache, no-store", response.Headers.CacheControl?.ToString() is { } cache ? string.Join(", ", cache.Split(", ").Order()) : null);
        Assert.Equal("DENY", Assert.Single(response.Headers.GetValues("X-Frame-Options")));
        Assert.DoesNotContain("http://", page, StringComparison.Ordinal);
        Assert.DoesNotContain("https://", page, StringComparison.Ordinal);
        Assert.Empty(site.Log);
    }
}

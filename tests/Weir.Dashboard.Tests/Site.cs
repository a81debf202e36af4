using System.Collections.Concurrent;
using System.Net.Http.Headers;
using System.Security.Claims;
using System.Text.Encodings.Web;
using System.Text.RegularExpressions;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Weir.TestKit;

namespace Weir.Dashboard.Tests;

/// <summary>An application on a port of this machine that has the page. Who asks says who he is with the header <c>X-User</c>.</summary>
internal sealed partial class Site : IAsyncDisposable
{
    private readonly WebApplication _app;

    private Site(WebApplication app, ConcurrentQueue<string> log)
    {
        _app = app;
        Log = log;
        Address = new Uri(app.Urls.First());
        Client = new HttpClient(new HttpClientHandler { UseCookies = true }) { BaseAddress = Address };
    }

    public Uri Address { get; }

    public HttpClient Client { get; }

    /// <summary>The lines that the page has logged.</summary>
    public ConcurrentQueue<string> Log { get; }

    /// <summary>Starts it.</summary>
    /// <param name="configure">The options of the page; null for its defaults.</param>
    /// <param name="url">Where it listens; null for any port.</param>
    /// <param name="use">What comes before the page.</param>
    /// <param name="map">What is done with the endpoint.</param>
    public static async Task<Site> StartAsync(
        Action<WeirDashboardOptions>? configure = null, string? url = null, Action<WebApplication>? use = null, Action<IEndpointConventionBuilder>? map = null)
    {
        ConcurrentQueue<string> log = new();
        WebApplication app = Build(log);
        app.Urls.Add(url ?? "http://127.0.0.1:0");
        use?.Invoke(app);
        app.UseRouting();
        app.UseAuthentication();
        app.UseAuthorization();
        IEndpointConventionBuilder mapped = app.MapWeir("/weir", configure);
        map?.Invoke(mapped);
        await app.StartAsync();
        return new Site(app, log);
    }

    /// <summary>An application that could have the page.</summary>
    public static WebApplication Build(ConcurrentQueue<string>? log = null, bool hasServices = true)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.Logging.AddProvider(new LogList(log ?? new()));
        if (hasServices)
        {
            builder.Services.AddAuthentication("test").AddScheme<AuthenticationSchemeOptions, HeaderUser>("test", null);
            builder.Services.AddAuthorization(static options =>
            {
                options.AddPolicy("viewers", static policy => policy.RequireAuthenticatedUser());
                options.AddPolicy("operators", static policy => policy.RequireRole("operators"));
            });
            builder.Services.AddAntiforgery();
            builder.Services.AddDataProtection();
        }

        return builder.Build();
    }

    /// <summary>Actions are allowed to operators, and the page to this machine.</summary>
    public static void ForOperators(WeirDashboardOptions options)
    {
        options.AllowActions = true;
        options.ActionPolicy = "operators";
    }

    /// <summary>Asks for something, as somebody.</summary>
    public async Task<(int Status, string Text)> GetAsync(string query = "", string? user = null, string? accept = null, params (string Name, string Value)[] headers)
    {
        using HttpRequestMessage request = new(HttpMethod.Get, "/weir" + query);
        return await SendAsync(request, user, accept, headers);
    }

    /// <summary>Does something as a form of the page does, with the token of a page that was loaded before.</summary>
    public Task<(int Status, string Text)> ActAsync(string user, params (string Name, string Value)[] fields) => ActAsync(user, "text/plain", fields);

    /// <summary>The same, as a browser that wants an answer of a kind.</summary>
    public async Task<(int Status, string Text)> ActAsync(string user, string accept, params (string Name, string Value)[] fields)
    {
        string id = fields.First(static field => field.Name == "id").Value;
        (_, string entry) = await GetAsync($"?view=entry&id={id}", user);
        (_, string letters) = await GetAsync($"?view=letters&id={id}", user);
        string token = Token().Match(entry + letters).Groups[1].Value;
        if (token.Length == 0)
        {
            // What is gone has no form, but somebody may have its page open still, with the token of another.
            SharedConcurrencyLimit other = new(1) { Name = "of a token" };
            token = Token().Match((await GetAsync($"?view=entry&id={Things.IdOf(other)}", user)).Text).Groups[1].Value;
            GC.KeepAlive(other);
        }

        using HttpRequestMessage request = new(HttpMethod.Post, "/weir")
        {
            Content = new FormUrlEncodedContent([new("__RequestVerificationToken", token), .. fields.Select(static field => KeyValuePair.Create(field.Name, field.Value))]),
        };
        return await SendAsync(request, user, accept);
    }

    public async Task<(int Status, string Text)> SendAsync(HttpRequestMessage request, string? user, string? accept = null, params (string Name, string Value)[] headers)
    {
        if (user is not null)
        {
            request.Headers.Add("X-User", user);
        }

        if (accept is not null)
        {
            request.Headers.Accept.Add(MediaTypeWithQualityHeaderValue.Parse(accept));
        }

        foreach ((string name, string value) in headers)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        using HttpResponseMessage response = await Client.SendAsync(request, HttpCompletionOption.ResponseContentRead, TestContext.Current.CancellationToken)
            .WithinAsync("the answer of the page");
        return ((int)response.StatusCode, await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
    }

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await _app.DisposeAsync();
    }

    [GeneratedRegex("name=\"__RequestVerificationToken\" value=\"([^\"]+)\"")]
    private static partial Regex Token();

    /// <summary>Takes the word of the header: <c>ada</c>, or <c>ada:operators</c> with a role.</summary>
    private sealed class HeaderUser(IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory loggers, UrlEncoder encoder)
        : AuthenticationHandler<AuthenticationSchemeOptions>(options, loggers, encoder)
    {
        protected override Task<AuthenticateResult> HandleAuthenticateAsync()
        {
            if (Request.Headers["X-User"] is not [{ } user])
            {
                return Task.FromResult(AuthenticateResult.NoResult());
            }

            string[] parts = user.Split(':');
            ClaimsIdentity identity = new([new Claim(ClaimTypes.Name, parts[0]), .. parts.Skip(1).Select(static role => new Claim(ClaimTypes.Role, role))], "test");
            return Task.FromResult(AuthenticateResult.Success(new AuthenticationTicket(new ClaimsPrincipal(identity), "test")));
        }
    }

    private sealed class LogList(ConcurrentQueue<string> lines) : ILoggerProvider, ILogger
    {
        private bool _isOurs;

        public ILogger CreateLogger(string categoryName) => new LogList(lines) { _isOurs = categoryName == "Weir.Dashboard" };

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (_isOurs || logLevel >= LogLevel.Error)
            {
                lines.Enqueue(formatter(state, exception));
            }
        }

        public void Dispose()
        {
        }
    }
}

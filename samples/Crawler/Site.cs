using System.Collections.Concurrent;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Crawler;

/// <summary>
/// A site on this machine to crawl. Page n links to the pages 2n + 1 and 2n + 2. One page in twenty first refuses with 429 and asks to wait a second; one
/// in ten fails once with 503.
/// </summary>
internal sealed class Site : IAsyncDisposable
{
    private readonly WebApplication _app;

    private Site(WebApplication app) => _app = app;

    public Uri Address => new(_app.Urls.First());

    public static async Task<Site> StartAsync(int pages)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.Services.AddSingleton<IHostLifetime, EndsWithTheProgram>();
        WebApplication app = builder.Build();
        app.Urls.Add("http://127.0.0.1:0");
        ConcurrentDictionary<int, bool> refused = new();
        app.MapGet("/{page:int}", (int page, HttpResponse response) =>
        {
            if (page % 20 == 19 && refused.TryAdd(page, true))
            {
                response.Headers.RetryAfter = "1";
                return Results.StatusCode(StatusCodes.Status429TooManyRequests);
            }

            if (page % 10 == 1 && refused.TryAdd(page, true))
            {
                return Results.StatusCode(StatusCodes.Status503ServiceUnavailable);
            }

            string links = string.Concat(new[] { 2 * page + 1, 2 * page + 2 }.Where(n => n < pages).Select(n => $"<a href=\"/{n}\">{n}</a>"));
            return Results.Text($"<title>{page}</title>{links}", "text/html");
        });
        await app.StartAsync();
        return new Site(app);
    }

    public ValueTask DisposeAsync() => _app.DisposeAsync();

    // The crawler handles Ctrl-C, not its site.
    private sealed class EndsWithTheProgram : IHostLifetime
    {
        public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }
}

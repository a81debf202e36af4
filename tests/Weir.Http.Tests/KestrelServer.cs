using System.Collections.Concurrent;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace Weir.Http.Tests;

/// <summary>A real web server on this machine, whose answers a test writes.</summary>
internal sealed class KestrelServer : IAsyncDisposable
{
    private readonly WebApplication _app;
    private readonly ConcurrentQueue<string> _requests = [];

    private KestrelServer(WebApplication app) => _app = app;

    /// <summary>Each request: its method, its path, and its body in brackets if it has one.</summary>
    public IReadOnlyList<string> Requests => [.. _requests];

    public Uri Address => new(_app.Urls.First());

    /// <param name="answer">Gets each request and its number, from 0.</param>
    public static async Task<KestrelServer> StartAsync(Func<HttpContext, int, Task> answer)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        KestrelServer server = new(builder.Build());
        int count = -1;
        server._app.Run(async context =>
        {
            int number = Interlocked.Increment(ref count);
            using StreamReader reader = new(context.Request.Body);
            string body = await reader.ReadToEndAsync(context.RequestAborted);
            server._requests.Enqueue($"{context.Request.Method} {context.Request.Path}{(body.Length > 0 ? $" [{body}]" : "")}");
            await answer(context, number);
        });
        server._app.Urls.Add("http://127.0.0.1:0");
        await server._app.StartAsync().WithinAsync("the start of the server");
        return server;
    }

    /// <summary>Each answer has a status of this list; the last of them for all that follow.</summary>
    public static Task<KestrelServer> StartAsync(params int[] statuses) => StartAsync((context, number) =>
    {
        context.Response.StatusCode = statuses[Math.Min(number, statuses.Length - 1)];
        return context.Response.WriteAsync($"answer {number}");
    });

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync().EndsAsync("the server");
        await _app.DisposeAsync();
    }
}

using System.Net;
using System.Security.Cryptography;
using Microsoft.AspNetCore.Antiforgery;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Authorization.Policy;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Net.Http.Headers;
using Weir.Dashboard.Letters;
using Weir.Dashboard.Page;
using Weir.Observability;

namespace Weir.Dashboard;

// Who may do what:
//
//   see   Whoever the policy of the endpoint lets in; ASP.NET Core decides that before this code runs. Without a policy, the machine itself: a request from a
//         loopback address, for a local host name, that no proxy has handed on. The address alone would let in everybody behind a proxy on the same machine,
//         and any page in a browser of this machine whose host name is made to lead here.
//   act   Whoever the policy of actions lets in, with an anti-forgery token, if actions are allowed at all. It is asked for each action, and for each drawing:
//         who may not act sees no buttons.
//
// What is read when:
//
//   A slow watch keeps the history as long as the application runs. A fast one exists while somebody has a stream open or has just asked, so that nobody pays
//   for rates and shares of time that nobody sees. All viewers read the same look.

/// <summary>Answers each request for the page: the page, its JSON, the stream that redraws it, and actions.</summary>
internal sealed class DashboardHandler : IDisposable
{
    /// <summary>The time from one drawing to the next in a stream.</summary>
    private static readonly TimeSpan Pace = TimeSpan.FromMilliseconds(500);

    /// <summary>A search reads the queue's server, so a stream repeats it more seldom.</summary>
    private static readonly TimeSpan SearchPace = TimeSpan.FromSeconds(10);

    /// <summary>More streams at once than this are refused: each costs a drawing at each look.</summary>
    private const int MostStreams = 100;

    private readonly WeirDashboardOptions _options;
    private readonly ILogger _logger;
    private readonly string _title;
    private readonly CancellationToken _stopping;
    private readonly LiveWatch _history;
    private readonly FastWatch _fast;
    private int _streams;

    public DashboardHandler(WeirDashboardOptions options, IServiceProvider services)
    {
        _options = options;
        _logger = services.GetRequiredService<ILoggerFactory>().CreateLogger("Weir.Dashboard");
        _title = options.Title ?? services.GetService<IHostEnvironment>()?.ApplicationName ?? AppDomain.CurrentDomain.FriendlyName;
        _history = WeirDiagnostics.Watch(new LiveWatchOptions
        {
            // Nobody sees the shares of time in it.
            Interval = TimeSpan.FromSeconds(10), SampleInterval = TimeSpan.FromSeconds(10), History = TimeSpan.FromHours(1), HistoryStep = TimeSpan.FromSeconds(10), MaxEntries = 500, TimeProvider = options.TimeProvider,
        });
        _fast = new FastWatch(options.TimeProvider);
        if (services.GetService<IHostApplicationLifetime>() is { } lifetime)
        {
            _stopping = lifetime.ApplicationStopping;
            lifetime.ApplicationStopping.Register(Dispose);
        }
    }

    public async Task AnswerAsync(HttpContext context)
    {
        // As the anti-forgery service wants it.
        context.Response.Headers.CacheControl = "no-cache, no-store";
        context.Response.Headers.Vary = "Accept";
        context.Response.Headers.XContentTypeOptions = "nosniff";
        context.Response.Headers["Referrer-Policy"] = "no-referrer";
        if (!HasPolicy(context) && !IsFromHere(context))
        {
            await RefuseAsync(
                context, StatusCodes.Status403Forbidden, "This page answers to its own machine alone. Give it a policy to open it to others: MapWeir(..., options => options.Policy = \"...\").")
                .ConfigureAwait(false);
            return;
        }

        if (HttpMethods.IsPost(context.Request.Method))
        {
            await ActAsync(context).ConfigureAwait(false);
            return;
        }

        PageRequest request = PageRequest.Read(name => context.Request.Query[name]);
        switch (Wanted(context))
        {
            case "text/event-stream":
                await StreamAsync(context, request).ConfigureAwait(false);
                break;
            case "application/json":
                context.Response.ContentType = "application/json; charset=utf-8";
                await context.Response.Body.WriteAsync(_fast.Look(isFresh: true).ToJson(), context.RequestAborted).ConfigureAwait(false);
                break;
            default:
                await DrawAsync(context, request, null).ConfigureAwait(false);
                break;
        }
    }

    /// <summary>Ends both watches. Requests that come later are answered without rates.</summary>
    public void Dispose()
    {
        _history.Dispose();
        _fast.Dispose();
    }

    // A policy, or only the wish for somebody who is logged in. Whoever allows everybody in gives none.
    private static bool HasPolicy(HttpContext context) =>
        context.GetEndpoint()?.Metadata is { } metadata
        && (metadata.GetMetadata<IAuthorizeData>() is not null || metadata.GetMetadata<AuthorizationPolicy>() is not null)
        && metadata.GetMetadata<IAllowAnonymous>() is null;

    private static bool IsFromHere(HttpContext context)
    {
        IHeaderDictionary headers = context.Request.Headers;
        bool isProxied = headers.ContainsKey("Forwarded") || headers.ContainsKey("X-Forwarded-For") || headers.ContainsKey("X-Forwarded-Host")
            || headers.ContainsKey("X-Real-IP") || headers.ContainsKey(HeaderNames.Via);
        return !isProxied
            && context.Connection.RemoteIpAddress is { } from && IPAddress.IsLoopback(from.IsIPv4MappedToIPv6 ? from.MapToIPv4() : from)
            && IsLocal(context.Request.Host.Host);
    }

    private static bool IsLocal(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase) || host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase)
        || (IPAddress.TryParse(host.Trim('[', ']'), out IPAddress? address) && IPAddress.IsLoopback(address));

    private static string Wanted(HttpContext context)
    {
        foreach (MediaTypeHeaderValue type in context.Request.GetTypedHeaders().Accept.OrderByDescending(static type => type.Quality ?? 1))
        {
            if (type.MediaType.Value is "text/html" or "text/event-stream" or "application/json" or "text/plain")
            {
                return type.MediaType.Value;
            }
        }

        return "text/html";
    }

    private static Task RefuseAsync(HttpContext context, int status, string sentence)
    {
        context.Response.StatusCode = status;
        context.Response.ContentType = "text/plain; charset=utf-8";
        return context.Response.WriteAsync(sentence, context.RequestAborted);
    }

    private async Task<bool> MayActAsync(HttpContext context)
    {
        if (!_options.AllowActions)
        {
            return false;
        }

        string name = _options.WhoMayAct!;
        AuthorizationPolicy policy = await context.RequestServices.GetRequiredService<IAuthorizationPolicyProvider>().GetPolicyAsync(name).ConfigureAwait(false)
            ?? throw new InvalidOperationException($"There is no authorisation policy '{name}': add it with AddAuthorization.");
        IPolicyEvaluator evaluator = context.RequestServices.GetRequiredService<IPolicyEvaluator>();
        Microsoft.AspNetCore.Authentication.AuthenticateResult who = await evaluator.AuthenticateAsync(policy, context).ConfigureAwait(false);
        return (await evaluator.AuthorizeAsync(policy, who, context, context).ConfigureAwait(false)).Succeeded;
    }

    private async Task ActAsync(HttpContext context)
    {
        if (!await MayActAsync(context).ConfigureAwait(false))
        {
            await RefuseAsync(
                context, StatusCodes.Status403Forbidden, _options.AllowActions ? "You may see this page, and not act on it." : "This page allows no actions.").ConfigureAwait(false);
            return;
        }

        if (!context.Request.HasFormContentType || !await context.RequestServices.GetRequiredService<IAntiforgery>().IsRequestValidAsync(context).ConfigureAwait(false))
        {
            await RefuseAsync(context, StatusCodes.Status400BadRequest, "The form is too old, or not of this page: load the page again.").ConfigureAwait(false);
            return;
        }

        IFormCollection form = await context.Request.ReadFormAsync(context.RequestAborted).ConfigureAwait(false);
        string what = form["do"].ToString();
        string id = form["id"].ToString();
        ActionResult result;
        try
        {
            result = await PageActions.DoAsync(what, id, name => form[name], _options, context.RequestAborted).ConfigureAwait(false);
        }
        catch (Exception e) when (!context.RequestAborted.IsCancellationRequested)
        {
            result = new ActionResult(false, $"It failed: {e.GetType().Name}: {e.Message}");
        }

        string who = context.User.Identity?.Name ?? "somebody without a name";
        DashboardLog.Acted(_logger, who, what, id, form["letter"].ToString(), form["limit"].ToString(), result.IsDone, result.Sentence);
        context.Response.StatusCode = result.IsDone ? StatusCodes.Status200OK : StatusCodes.Status400BadRequest;
        if (Wanted(context) == "text/plain")
        {
            context.Response.ContentType = "text/plain; charset=utf-8";
            await context.Response.WriteAsync(result.Sentence, context.RequestAborted).ConfigureAwait(false);
            return;
        }

        await DrawAsync(context, PageRequest.Read(name => context.Request.Query[name]), result.Sentence).ConfigureAwait(false);
    }

    private async Task DrawAsync(HttpContext context, PageRequest request, string? result)
    {
        string nonce = Convert.ToHexString(RandomNumberGenerator.GetBytes(16));
        PageData data = await ReadAsync(context, request, await TokenAsync(context).ConfigureAwait(false), isFresh: true).ConfigureAwait(false);
        context.Response.Headers.ContentSecurityPolicy =
            $"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        context.Response.ContentType = "text/html; charset=utf-8";
        await context.Response.WriteAsync(PageWriter.Document(data, _title, nonce, result), context.RequestAborted).ConfigureAwait(false);
    }

    private async Task StreamAsync(HttpContext context, PageRequest request)
    {
        using var end = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted, _stopping);
        if (Interlocked.Increment(ref _streams) > MostStreams)
        {
            Interlocked.Decrement(ref _streams);
            await RefuseAsync(context, StatusCodes.Status503ServiceUnavailable, $"{MostStreams} browsers look at this page already.").ConfigureAwait(false);
            return;
        }

        try
        {
            (string, string)? token = await TokenAsync(context).ConfigureAwait(false);
            context.Features.Get<IHttpResponseBodyFeature>()?.DisableBuffering();
            context.Response.ContentType = "text/event-stream";
            context.Response.Headers["X-Accel-Buffering"] = "no";
            using PeriodicTimer pace = new(request.View == "letters" ? SearchPace : Pace, _options.TimeProvider);
            string drawn = "";
            do
            {
                string now = PageWriter.Live(await ReadAsync(context, request, token, isFresh: false).ConfigureAwait(false)).ToString().ReplaceLineEndings(" ");

                // A comment in place of what is the same tells the server that the browser is still there.
                await context.Response.WriteAsync(now == drawn ? ":\n\n" : $"data: {now}\n\n", end.Token).ConfigureAwait(false);
                await context.Response.Body.FlushAsync(end.Token).ConfigureAwait(false);
                drawn = now;
            }
            while (await pace.WaitForNextTickAsync(end.Token).ConfigureAwait(false));
        }
        catch (OperationCanceledException) when (end.IsCancellationRequested)
        {
            // The browser has gone, or the application stops.
        }
        finally
        {
            Interlocked.Decrement(ref _streams);
        }
    }

    private async Task<(string Name, string Value)?> TokenAsync(HttpContext context)
    {
        if (!await MayActAsync(context).ConfigureAwait(false))
        {
            return null;
        }

        AntiforgeryTokenSet tokens = context.RequestServices.GetRequiredService<IAntiforgery>().GetAndStoreTokens(context);

        // The service would allow the page in a frame of the same site.
        context.Response.Headers.XFrameOptions = "DENY";
        return (tokens.FormFieldName, tokens.RequestToken!);
    }

    private async Task<PageData> ReadAsync(HttpContext context, PageRequest request, (string, string)? token, bool isFresh)
    {
        WeirSnapshot now = _fast.Look(isFresh);
        PageData data = new(request, now, id => _history.History(id).Points, token, null, null);
        if (request.View != "letters" || now.Entries.FirstOrDefault(entry => entry.Id == request.Id) is not { } queue)
        {
            return data;
        }

        try
        {
            return data with
            {
                Found = await LetterSearch.FindAsync(
                    Words.Name(queue), WeirDiagnostics.Find<IDeadLetters>(queue.Id), WeirDiagnostics.Find<IQueuedItems>(queue.Id), request.Letters, _options, context.RequestAborted)
                    .ConfigureAwait(false),
            };
        }
        catch (Exception e) when (!context.RequestAborted.IsCancellationRequested)
        {
            return data with { Failure = $"The queue cannot be read: {e.GetType().Name}: {e.Message}" };
        }
    }

    /// <summary>The watch that knows rates and shares of time. It begins with the first look and ends when nobody has looked for a while.</summary>
    private sealed class FastWatch : IDisposable
    {
        private static readonly TimeSpan Linger = TimeSpan.FromSeconds(15);

        private readonly Lock _lock = new();
        private readonly TimeProvider _time;
        private readonly ITimer _timer;

        // Under the lock.
        private LiveWatch? _watch;
        private long _lookedAt;
        private bool _isDisposed;

        public FastWatch(TimeProvider time)
        {
            _time = time;
            _timer = time.CreateTimer(
                static watch =>
                {
                    try
                    {
                        ((FastWatch)watch!).EndIfUnused();
                    }
                    catch (Exception)
                    {
                        // The next time ends it.
                    }
                },
                this,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan);
        }

        /// <summary>What is live: as it is now, for who has just done something, or as the last look saw it, which all streams share.</summary>
        public WeirSnapshot Look(bool isFresh)
        {
            LiveWatch watch;
            lock (_lock)
            {
                if (_isDisposed)
                {
                    return WeirDiagnostics.Snapshot();
                }

                _lookedAt = _time.GetTimestamp();
                if (_watch is null)
                {
                    _watch = WeirDiagnostics.Watch(new LiveWatchOptions { Interval = Pace, TimeProvider = _time });
                    _timer.Change(Linger, Linger);
                }

                watch = _watch;
            }

            return isFresh ? watch.Snapshot() : watch.Latest;
        }

        public void Dispose()
        {
            lock (_lock)
            {
                _isDisposed = true;
                _watch?.Dispose();
                _watch = null;
            }

            _timer.Dispose();
        }

        private void EndIfUnused()
        {
            lock (_lock)
            {
                if (_watch is not null && _time.GetElapsedTime(_lookedAt) >= Linger)
                {
                    _watch.Dispose();
                    _watch = null;
                    _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                }
            }
        }
    }
}

/// <summary>The log lines of the page.</summary>
internal static partial class DashboardLog
{
    [LoggerMessage(
        1, LogLevel.Information, "{User} did '{Action}' to {Target} (letter '{Letter}', limit '{Limit}') on the dashboard. Done: {IsDone}. {Sentence}")]
    public static partial void Acted(ILogger logger, string user, string action, string target, string letter, string limit, bool isDone, string sentence);
}

using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using Microsoft.AspNetCore.Antiforgery;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Authorization.Policy;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Primitives;
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
//   act   Whoever the policy of actions lets in, with an anti-forgery token, if actions are allowed at all. It is asked for each action, page and
//         stream: who may not act sees no buttons.
//
// What is read when:
//
//   One watch keeps the history from the start of the application, and looks often only while somebody has a stream open or has just asked: nobody pays for
//   rates and shares of time that nobody sees. All viewers read the same look, and those who may act at the same address, or may not, get the same drawing
//   of it: once drawn for all, and of that what has changed (SharedDrawing).
//
// How it ends:
//
//   When the application stops, so that no stream holds it up; or when its services are disposed of without a stop (DashboardEndpoints). An application that
//   never starts has no watch. What comes after the end is answered without rates.

/// <summary>Answers each request for the page: the page, its JSON, the stream that redraws it, and actions.</summary>
internal sealed class DashboardHandler : IDisposable
{
    /// <summary>The time from one drawing to the next in a stream.</summary>
    private static readonly TimeSpan Pace = TimeSpan.FromMilliseconds(500);

    /// <summary>The time from one point of the history to the next, and from one look to the next while nobody looks.</summary>
    private static readonly TimeSpan HistoryPace = TimeSpan.FromSeconds(10);

    /// <summary>Of so many entries at most, rates and the history are known.</summary>
    private const int MostWatched = 1000;

    /// <summary>A search reads the queue's server, so a stream repeats it more seldom.</summary>
    private static readonly TimeSpan SearchPace = TimeSpan.FromSeconds(10);

    /// <summary>More streams at once than this are refused: each may cost a drawing at each look.</summary>
    private const int MostStreams = 100;

    private readonly WeirDashboardOptions _options;
    private readonly ILogger _logger;
    private readonly string _title;
    private readonly CancellationToken _stopping;
    private readonly Lock _lock = new();

    // Under the lock.
    private readonly Dictionary<(PageRequest Request, bool MayAct), SharedDrawing> _drawings = [];
    private int _streams;
    private LiveWatch? _watch;
    private bool _hasEnded;

    public DashboardHandler(WeirDashboardOptions options, IServiceProvider services)
    {
        _options = options;
        _logger = services.GetRequiredService<ILoggerFactory>().CreateLogger("Weir.Dashboard");
        _title = options.Title ?? services.GetService<IHostEnvironment>()?.ApplicationName ?? AppDomain.CurrentDomain.FriendlyName;
        if (services.GetService<IHostApplicationLifetime>() is { } lifetime)
        {
            _stopping = lifetime.ApplicationStopping;
            lifetime.ApplicationStarted.Register(() => Watch());
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
                await context.Response.Body.WriteAsync(Watch().Snapshot().ToJson(), context.RequestAborted).ConfigureAwait(false);
                break;
            default:
                await DrawAsync(context, request, await MayActAsync(context).ConfigureAwait(false), null).ConfigureAwait(false);
                break;
        }
    }

    /// <summary>Ends the watch. Requests that come later are answered without rates.</summary>
    public void Dispose()
    {
        lock (_lock)
        {
            _hasEnded = true;
            _watch?.Dispose();
        }
    }

    /// <summary>The watch of the page. It begins with the application, or with the first request where nobody says that it has started.</summary>
    private LiveWatch Watch()
    {
        lock (_lock)
        {
            if (_watch is not null)
            {
                return _watch;
            }
        }

        // Not under the lock: its first look may run the text of a user's exception.
        LiveWatch begun = WeirDiagnostics.Watch(new LiveWatchOptions
        {
            Interval = Pace, IdleInterval = HistoryPace, History = TimeSpan.FromHours(1), HistoryStep = HistoryPace, MaxEntries = MostWatched, TimeProvider = _options.TimeProvider,
        });
        lock (_lock)
        {
            if (_hasEnded || _watch is not null)
            {
                begun.Dispose();
            }

            return _watch ??= begun;
        }
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
        string? name = Watch().Latest.Entries.FirstOrDefault(entry => entry.Id == id)?.Name;
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
        DashboardLog.Acted(_logger, who, what, id, name, form, result);
        context.Response.StatusCode = result.IsDone ? StatusCodes.Status200OK : StatusCodes.Status400BadRequest;
        if (Wanted(context) == "text/plain")
        {
            context.Response.ContentType = "text/plain; charset=utf-8";
            await context.Response.WriteAsync(result.Sentence, context.RequestAborted).ConfigureAwait(false);
            return;
        }

        await DrawAsync(context, PageRequest.Read(name => context.Request.Query[name]), mayAct: true, result.Sentence).ConfigureAwait(false);
    }

    private async Task DrawAsync(HttpContext context, PageRequest request, bool mayAct, string? result)
    {
        string nonce = Convert.ToHexString(RandomNumberGenerator.GetBytes(16));
        PageData data = await ReadAsync(context, request, mayAct, isFresh: true).ConfigureAwait(false);
        data = data with { Token = mayAct ? Token(context) : null };
        context.Response.Headers.ContentSecurityPolicy =
            $"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        context.Response.ContentType = "text/html; charset=utf-8";
        await context.Response.Body.WriteAsync(PageWriter.Document(data, _title, nonce, result).Html, context.RequestAborted).ConfigureAwait(false);
    }

    private async Task StreamAsync(HttpContext context, PageRequest request)
    {
        bool mayAct = await MayActAsync(context).ConfigureAwait(false);
        if (Join((request, mayAct)) is not { } drawing)
        {
            await RefuseAsync(context, StatusCodes.Status503ServiceUnavailable, $"{MostStreams} browsers look at this page already.").ConfigureAwait(false);
            return;
        }

        using var end = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted, _stopping);
        try
        {
            PipeWriter body = context.Response.BodyWriter;
            context.Features.Get<IHttpResponseBodyFeature>()?.DisableBuffering();
            context.Response.ContentType = "text/event-stream";
            context.Response.Headers["X-Accel-Buffering"] = "no";
            if (mayAct)
            {
                // Once, because it is long and its user's own, and the drawings are for all who may act.
                (string name, string value) = Token(context);
                body.Write(Encoding.ASCII.GetBytes($"event: token\ndata: {name} {value}\n\n"));
            }

            using PeriodicTimer pace = new(request.View == "letters" ? SearchPace : Pace, _options.TimeProvider);
            ArrayBufferWriter<byte> next = new();
            List<long> has = [];
            do
            {
                next.ResetWrittenCount();
                drawing.AddEvent(await ReadAsync(context, request, mayAct, isFresh: has.Count == 0).ConfigureAwait(false), has, next);
                body.Write(next.WrittenSpan);
                await body.FlushAsync(end.Token).ConfigureAwait(false);
            }
            while (await pace.WaitForNextTickAsync(end.Token).ConfigureAwait(false));
        }
        catch (OperationCanceledException) when (end.IsCancellationRequested)
        {
            // The browser has gone, or the application stops.
        }
        finally
        {
            Leave((request, mayAct), drawing);
        }
    }

    private SharedDrawing? Join((PageRequest, bool) address)
    {
        lock (_lock)
        {
            if (_streams == MostStreams)
            {
                return null;
            }

            _streams++;
            if (!_drawings.TryGetValue(address, out SharedDrawing? drawing))
            {
                _drawings[address] = drawing = new SharedDrawing();
            }

            drawing.Viewers++;
            return drawing;
        }
    }

    private void Leave((PageRequest, bool) address, SharedDrawing drawing)
    {
        lock (_lock)
        {
            _streams--;
            if (--drawing.Viewers == 0)
            {
                _drawings.Remove(address);
            }
        }
    }

    private static (string Name, string Value) Token(HttpContext context)
    {
        AntiforgeryTokenSet tokens = context.RequestServices.GetRequiredService<IAntiforgery>().GetAndStoreTokens(context);

        // The service would allow the page in a frame of the same site.
        context.Response.Headers.XFrameOptions = "DENY";
        return (tokens.FormFieldName, tokens.RequestToken!);
    }

    private async Task<PageData> ReadAsync(HttpContext context, PageRequest request, bool mayAct, bool isFresh)
    {
        LiveWatch watch = Watch();
        WeirSnapshot now = isFresh ? watch.Snapshot() : watch.Latest;
        PageData data = new(request, now, id => watch.History(id).Points, mayAct, null, null, null);
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
}

/// <summary>The log lines of the page.</summary>
internal static partial class DashboardLog
{
    private const int LongestText = 500;

    // What says more exactly what was done: to which letter, or to those of which filter.
    private static readonly string[] Details = ["letter", "limit", "kind", "text", "from", "to"];

    /// <summary>One line for an action, also where a text in it has several: nobody can write a line of his own.</summary>
    public static void Acted(ILogger logger, string user, string action, string target, string? name, IFormCollection form, ActionResult result)
    {
        string details = string.Concat(Details.Where(field => !StringValues.IsNullOrEmpty(form[field])).Select(field => $", {field} '{Line(form[field].ToString())}'"));
        Acted(logger, Line(user), Line(action), Line(target), Line(name ?? ""), details, result.IsDone, Line(result.Sentence));
    }

    [LoggerMessage(1, LogLevel.Information, "{User} did '{Action}' to {Target} '{Name}'{Details} on the dashboard. Done: {IsDone}. {Sentence}")]
    private static partial void Acted(ILogger logger, string user, string action, string target, string name, string details, bool isDone, string sentence);

    private static string Line(string text) => string.Create(Math.Min(text.Length, LongestText), text, static (line, text) =>
    {
        text.AsSpan(0, line.Length).CopyTo(line);
        foreach (ref char c in line)
        {
            c = char.IsControl(c) || c is '\u2028' or '\u2029' or (>= '\u202A' and <= '\u202E') ? '?' : c;
        }
    });
}

using System.Net;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Weir.Resilience;

namespace Weir.Http.Tests;

public class HttpPolicyHandlerTests
{
    private const int Patience = 90_000;

    private static readonly RetryOptions AtOnce = new() { BaseDelay = TimeSpan.Zero, IsTransient = HttpRetry.IsTransient };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    // What holds a permit, and for how long.

    [Theory(Timeout = Patience)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Limit_OfOne_LetsOneCallInAtATime(bool isAdaptive)
    {
        int now = 0;
        int most = 0;
        await using KestrelServer server = await KestrelServer.StartAsync(async (context, _) =>
        {
            most = Math.Max(most, Interlocked.Increment(ref now));
            await Guard.SettleAsync();
            Interlocked.Decrement(ref now);
            await context.Response.WriteAsync("done");
        });
        using HttpClient client = isAdaptive
            ? ClientOf(server, new HttpPolicyHandler(new AdaptiveLimit(new() { Adaptive = new() { MaxConcurrency = 1 } }).With(CallPriority.Critical)))
            : ClientOf(server, new HttpPolicyHandler(new SharedConcurrencyLimit(1)));

        string[] answers = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => client.GetStringAsync("/", Token))).WithinAsync();
        Assert.All(answers, static answer => Assert.Equal("done", answer));
        Assert.Equal(1, most);
    }

    [Theory(Timeout = Patience)]
    [InlineData(null)]
    [InlineData(1_000L)]
    public async Task Permit_BodyThatIsStillComing_IsHeldOnlyIfTheBodyIsBuffered(long? buffered)
    {
        using Gate body = new();
        await using KestrelServer server = await KestrelServer.StartAsync(async (context, number) =>
        {
            await context.Response.WriteAsync("first ");
            await context.Response.Body.FlushAsync();
            await body.WaitAsync();
            await context.Response.WriteAsync("second");
        });
        SharedConcurrencyLimit limit = new(1);
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(limit) { MaxBufferedBody = buffered });

        Task<HttpResponseMessage> call = client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead, Token);
        if (buffered is null)
        {
            using HttpResponseMessage early = await call.WithinAsync("the headers");
            Assert.Equal(0, limit.InUse);
            body.Open();
            Assert.Equal("first second", await early.Content.ReadAsStringAsync(Token).WithinAsync());
            return;
        }

        await Guard.UntilAsync(() => server.Requests.Count == 1, "the request");
        await Guard.SettleAsync();
        Assert.Equal((1, false), (limit.InUse, call.IsCompleted));
        body.Open();
        using HttpResponseMessage response = await call.WithinAsync("the body");
        Assert.Equal((0, "first second"), (limit.InUse, await response.Content.ReadAsStringAsync(Token)));
    }

    [Fact(Timeout = Patience)]
    public async Task MaxBufferedBody_LongerBody_IsAnErrorThatIsNotRetried()
    {
        await using KestrelServer server = await KestrelServer.StartAsync(200);
        using HttpClient client = ClientOf(
            server, new HttpPolicyHandler(new PolicyChain(new PolicyChainOptions { Retry = AtOnce with { IsTransient = Transient.IsTransient } })) { MaxBufferedBody = 3 });

        InvalidDataException e = await Assert.ThrowsAsync<InvalidDataException>(() => client.GetStringAsync("/", Token));
        Assert.Equal("The body of the response is longer than MaxBufferedBody, which is 3 bytes.", e.Message);
        Assert.Single(server.Requests);
        ArgumentOutOfRangeException range = Assert.Throws<ArgumentOutOfRangeException>(
            () => new HttpPolicyHandler(new SharedConcurrencyLimit(1)) { MaxBufferedBody = -1 });
        Assert.StartsWith("MaxBufferedBody must be from 0 to 2147483647 bytes, or null.", range.Message, StringComparison.Ordinal);
    }

    [Fact(Timeout = Patience)]
    public async Task MaxBufferedBody_BodyThatBreaksOff_IsTriedAgain()
    {
        await using KestrelServer server = await KestrelServer.StartAsync(async (context, number) =>
        {
            await context.Response.WriteAsync("one ");
            await context.Response.Body.FlushAsync();
            if (number == 0)
            {
                context.Abort();
            }

            await context.Response.WriteAsync("two");
        });
        PolicyChain chain = new(new PolicyChainOptions { Retry = AtOnce });
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(chain) { MaxBufferedBody = 100 });
        Assert.Equal("one two", await client.GetStringAsync("/", Token).WithinAsync());
        Assert.Equal(2, server.Requests.Count);
    }

    [Fact(Timeout = Patience)]
    public async Task Limit_Full_ThrowsWhatTheLimitThrows()
    {
        using Gate gate = new();
        await using KestrelServer server = await KestrelServer.StartAsync((_, _) => gate.WaitAsync());
        SharedConcurrencyLimit limit = new(1, maxWaiting: 0);
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(limit));

        Task<string> first = client.GetStringAsync("/", Token);
        await Guard.UntilAsync(() => limit.InUse == 1, "the first call");
        await Assert.ThrowsAsync<ConcurrencyLimitRejectedException>(() => client.GetStringAsync("/", Token));
        gate.Open();
        await first.WithinAsync();
        Assert.Equal(0, limit.InUse);
    }

    [Fact(Timeout = Patience)]
    public async Task Cancelled_InFlightAndInTheQueue_ThePermitComesBack()
    {
        int aborted = 0;
        await using KestrelServer server = await KestrelServer.StartAsync(async (context, _) =>
        {
            TaskCompletionSource left = new(TaskCreationOptions.RunContinuationsAsynchronously);
            using CancellationTokenRegistration link = context.RequestAborted.UnsafeRegister(_ => left.TrySetResult(), null);
            await left.Task;
            Interlocked.Increment(ref aborted);
        });
        SharedConcurrencyLimit limit = new(1);
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(limit));
        using CancellationTokenSource stop = new();
        Task[] calls = [client.GetStringAsync("/", stop.Token), client.GetStringAsync("/", stop.Token)];
        await Guard.UntilAsync(() => server.Requests.Count == 1 && limit.Waiting == 1, "a call in flight and one that waits");

        await stop.CancelAsync();
        foreach (Task call in calls)
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call);
        }

        Assert.Equal((0, 0), (limit.InUse, limit.Waiting));
        await Guard.UntilAsync(() => Volatile.Read(ref aborted) == 1, "the server's notice");
    }

    [Fact(Timeout = Patience)]
    public async Task Send_Synchronous_GoesThroughThePolicies()
    {
        await using KestrelServer server = await KestrelServer.StartAsync(503, 200);
        SharedConcurrencyLimit limit = new(1);
        PolicyChain chain = new(new PolicyChainOptions { ConcurrencyLimit = limit, Retry = AtOnce });
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(chain));
        await limit.EnterAsync(Token);
        Task<HttpResponseMessage> call = Task.Run(() =>
        {
            using HttpRequestMessage request = new(HttpMethod.Get, "/");
            return client.Send(request);
        });
        await Guard.UntilAsync(() => limit.Waiting == 1, "the wait");
        limit.Leave();

        using HttpResponseMessage response = await call.WithinAsync();
        Assert.Equal((HttpStatusCode.OK, 2, 0), (response.StatusCode, server.Requests.Count, limit.InUse));
    }

    // What is a failure, and what the caller gets.

    [Fact(Timeout = Patience)]
    public async Task Retry_RefusedOnce_WaitsAsTheServerAsks()
    {
        ManualTimeProvider time = new();
        await using KestrelServer server = await KestrelServer.StartAsync((context, number) =>
        {
            context.Response.StatusCode = number == 0 ? 429 : 200;
            context.Response.Headers.RetryAfter = "11";
            return context.Response.WriteAsync($"answer {number}");
        });
        PolicyChain chain = new(new PolicyChainOptions { Retry = new() { DelayHint = HttpRetry.RetryAfter }, TimeProvider = time });
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(chain));

        Task<string> call = client.GetStringAsync("/", Token);
        await Guard.UntilAsync(() => time.NextDue == TimeSpan.FromSeconds(11), "the wait that the response asks for");
        time.Advance(TimeSpan.FromSeconds(11));
        Assert.Equal("answer 1", await call.WithinAsync());
    }

    [Theory(Timeout = Patience)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Retry_RefusedEachTime_ReturnsTheLastResponseAndFreesTheOthers(bool ofAnyResult)
    {
        string body = new('x', 1_000_000);
        await using KestrelServer server = await KestrelServer.StartAsync((context, number) =>
        {
            context.Response.StatusCode = 503;
            return context.Response.WriteAsync(number + body);
        });
        HttpPolicyHandler handler = ofAnyResult
            ? new(new PolicyChain(new PolicyChainOptions { Retry = AtOnce with { MaxRetries = 2 } }))
            : new(new PolicyChain<HttpResponseMessage>(new PolicyChainOptions<HttpResponseMessage>
            {
                Retry = AtOnce with { MaxRetries = 2, IsTransient = null },
                ShouldRetry = HttpRetry.ShouldRetry,
                DelayHint = HttpRetry.RetryAfter,
            }));

        // With one connection, a response that nobody reads or disposes of would stop the next attempt.
        handler.InnerHandler = new SocketsHttpHandler { MaxConnectionsPerServer = 1 };
        using HttpClient client = new(handler) { BaseAddress = server.Address };
        using HttpResponseMessage last = await client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead, Token).WithinAsync();
        Assert.Equal((HttpStatusCode.ServiceUnavailable, 3), (last.StatusCode, server.Requests.Count));
        Assert.Equal("2" + body, await last.Content.ReadAsStringAsync(Token).WithinAsync());
    }

    [Theory(Timeout = Patience)]
    [InlineData(503, true)]
    [InlineData(429, true)]
    [InlineData(500, true)]
    [InlineData(404, false)]
    [InlineData(501, false)]
    public async Task Law_Statuses_LowersTheLimitOnlyForWhatTheServerCouldNotAnswer(int status, bool falls)
    {
        await using KestrelServer server = await KestrelServer.StartAsync(status);

        // Without latency, which is noise here.
        AdaptiveLimit limit = new(new()
        {
            Adaptive = new() { IncreaseStrategy = AdaptiveConcurrencyStrategy.AIMD, DecreaseStrategy = AdaptiveConcurrencyStrategy.AIMD },
        });
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(limit));
        for (int i = 0; i < 200; i++)
        {
            using HttpResponseMessage response = await client.GetAsync("/", Token).WithinAsync();
            Assert.Equal(status, (int)response.StatusCode);
        }

        Assert.Equal(falls, limit.Limit < 32);
        Assert.Equal(0, limit.InUse);
    }

    [Fact(Timeout = Patience)]
    public async Task Breaker_RefusedCalls_OpensAndThrowsItsOwnException()
    {
        await using KestrelServer server = await KestrelServer.StartAsync(404, 404, 404, 503, 503);
        PolicyChain chain = new(new PolicyChainOptions { CircuitBreaker = new() { FailureThreshold = 2 } });
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(chain));
        for (int i = 0; i < 5; i++)
        {
            using HttpResponseMessage response = await client.GetAsync("/", Token);
        }

        await Assert.ThrowsAsync<CircuitBreakerOpenException>(() => client.GetAsync("/", Token));
        Assert.Equal(5, server.Requests.Count);
    }

    [Fact(Timeout = Patience)]
    public async Task IsFailure_OfOnesOwn_Decides()
    {
        await using KestrelServer server = await KestrelServer.StartAsync(423, 200);
        PolicyChain chain = new(new PolicyChainOptions { Retry = AtOnce with { IsTransient = static e => e is HttpStatusException } });
        using HttpClient client = ClientOf(
            server, new HttpPolicyHandler(chain) { IsFailure = static response => response.StatusCode == HttpStatusCode.Locked });
        Assert.Equal("answer 1", await client.GetStringAsync("/", Token).WithinAsync());
    }

    [Fact(Timeout = Patience)]
    public async Task Attempt_GivenUp_ItsLateResponseIsDisposedOfAndTheNewestIsKept()
    {
        ManualTimeProvider time = new();
        using Gate late = new();
        SlowFirst inner = new(late);
        PolicyChain chain = new(new PolicyChainOptions
        {
            AttemptTimeout = TimeSpan.FromSeconds(10),
            Retry = new() { MaxRetries = 2, BaseDelay = TimeSpan.FromSeconds(2), BackoffStrategy = BackoffStrategy.Exponential },
            TimeProvider = time,
        });
        using HttpClient client = new(new HttpPolicyHandler(chain) { InnerHandler = inner }) { BaseAddress = new Uri("http://localhost") };

        Task<HttpResponseMessage> call = client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead, Token);
        await Guard.UntilAsync(() => time.NextDue == TimeSpan.FromSeconds(10), "the time limit");
        time.Advance(TimeSpan.FromSeconds(10));
        await Guard.UntilAsync(() => time.NextDue == TimeSpan.FromSeconds(12), "the first delay");
        time.Advance(TimeSpan.FromSeconds(2));
        await Guard.UntilAsync(() => time.NextDue == TimeSpan.FromSeconds(16), "the second delay");

        // The second attempt's response is kept while the first one's comes.
        late.Open();
        await Guard.UntilAsync(() => inner.First.IsDisposed, "the end of the late response");
        time.Advance(TimeSpan.FromSeconds(4));
        using HttpResponseMessage response = await call.WithinAsync();
        Assert.Equal("answer 3", await response.Content.ReadAsStringAsync(Token));
    }

    [Fact(Timeout = Patience)]
    public async Task Call_GivenUp_ItsLateResponseIsDisposedOf()
    {
        ManualTimeProvider time = new();
        using Gate late = new();
        SlowFirst inner = new(late);
        PolicyChain chain = new(new PolicyChainOptions { TotalTimeout = TimeSpan.FromSeconds(1), TimeProvider = time });
        using HttpClient client = new(new HttpPolicyHandler(chain) { InnerHandler = inner }) { BaseAddress = new Uri("http://localhost") };

        Task<HttpResponseMessage> call = client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead, Token);
        await Guard.UntilAsync(() => time.NextDue is not null, "the time limit");
        time.Advance(TimeSpan.FromSeconds(1));
        OperationCanceledException e = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.WithinAsync());
        Assert.IsAssignableFrom<TimeoutException>(e.InnerException);
        late.Open();
        await Guard.UntilAsync(() => inner.First.IsDisposed, "the end of the late response");
    }

    // What is sent again, and how.

    [Fact(Timeout = Patience)]
    public async Task Retry_Requests_RepeatsThoseThatCanBeSentAgain()
    {
        await using KestrelServer server = await KestrelServer.StartAsync((context, number) =>
        {
            context.Response.StatusCode = 503;
            return Task.CompletedTask;
        });
        PolicyChain chain = new(new PolicyChainOptions { Retry = AtOnce with { MaxRetries = 1 } });
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(chain));

        await SendAsync(HttpMethod.Get, "/get", null);
        await SendAsync(HttpMethod.Put, "/text", new StringContent("text"));
        await SendAsync(HttpMethod.Put, "/parts", new MultipartContent("mixed", "line") { new ByteArrayContent("part"u8.ToArray()) });
        await SendAsync(HttpMethod.Put, "/stream", new StreamContent(new MemoryStream("stream"u8.ToArray())));
        await SendAsync(HttpMethod.Post, "/post", new StringContent("post"));
        await SendAsync(HttpMethod.Post, "/said", new StringContent("said"), mayRepeat: true);
        await SendAsync(HttpMethod.Get, "/not", null, mayRepeat: false);

        string parts = "PUT /parts [--line\r\n\r\npart\r\n--line--\r\n]";
        Assert.Equal(
            [
                "GET /get", "GET /get", "PUT /text [text]", "PUT /text [text]", parts, parts, "PUT /stream [stream]", "POST /post [post]", "POST /said [said]",
                "POST /said [said]", "GET /not",
            ],
            server.Requests);

        async Task SendAsync(HttpMethod method, string path, HttpContent? content, bool? mayRepeat = null)
        {
            using HttpRequestMessage request = new(method, path) { Content = content };
            if (mayRepeat is { } may)
            {
                request.Options.Set(HttpPolicyHandler.MayRepeat, may);
            }

            using HttpResponseMessage response = await client.SendAsync(request, Token).WithinAsync();
            Assert.Equal(HttpStatusCode.ServiceUnavailable, response.StatusCode);
        }
    }

    [Fact(Timeout = Patience)]
    public async Task Retry_AfterARedirectionAndOtherHandlers_SendsTheFirstRequestAgain()
    {
        List<string> headers = [];
        await using KestrelServer server = await KestrelServer.StartAsync((context, number) =>
        {
            headers.Add($"{context.Request.Headers["Kept"]} {context.Request.Headers["Added"]}");
            context.Response.StatusCode = context.Request.Path == "/old" ? 302 : number == 1 ? 503 : 200;
            context.Response.Headers.Location = "/new";
            return Task.CompletedTask;
        });
        PolicyChain chain = new(new PolicyChainOptions { Retry = AtOnce });
        HttpPolicyHandler handler = new(chain) { InnerHandler = new AddsHeader { InnerHandler = new SocketsHttpHandler() } };
        using HttpClient client = new(handler) { BaseAddress = server.Address };
        using HttpRequestMessage request = new(HttpMethod.Get, "/old") { Headers = { { "Kept", ["1", "2"] } } };

        using HttpResponseMessage response = await client.SendAsync(request, Token).WithinAsync();
        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(["GET /old", "GET /new", "GET /old", "GET /new"], server.Requests);
        Assert.All(headers, static header => Assert.Equal("1, 2 3", header));
    }

    // How it is made.

    [Fact(Timeout = Patience)]
    public async Task ByKey_Hosts_HaveALimitEach()
    {
        using Gate gate = new();
        await using KestrelServer server = await KestrelServer.StartAsync((_, _) => gate.WaitAsync());
        ConcurrencyLimits<string> limits = ConcurrencyLimits.ByKey<HttpRequestMessage, string>(static request => request.RequestUri!.Host, 1);
        using HttpClient client = ClientOf(server, new HttpPolicyHandler(limits));
        Task<string>[] calls = [.. ((string[])["127.0.0.1", "localhost", "localhost"]).Select(
            host => client.GetStringAsync(new UriBuilder(server.Address) { Host = host }.Uri, Token))];
        await Guard.UntilAsync(() => server.Requests.Count == 2, "a call of each host");
        Assert.Equal((1, 0, 1, 1), (limits.Get("127.0.0.1").InUse, limits.Get("127.0.0.1").Waiting, limits.Get("localhost").InUse, limits.Get("localhost").Waiting));
        gate.Open();
        await Task.WhenAll(calls).WithinAsync();

        ArgumentException e = Assert.Throws<ArgumentException>(
            () => new HttpPolicyHandler(ConcurrencyLimits.ByKey<string, string>(static url => url, 1)));
        Assert.StartsWith("ConcurrencyLimit has the keys of items of type String, but the items here are of type HttpRequestMessage.", e.Message, StringComparison.Ordinal);
        Assert.Throws<ArgumentNullException>(() => new HttpPolicyHandler((IConcurrencyLimitSetting)null!));
        Assert.Throws<ArgumentNullException>(() => new HttpPolicyHandler((PolicyChain)null!));
    }

    [Fact(Timeout = Patience)]
    public async Task Factory_AddHttpMessageHandler_SharesTheLimit()
    {
        await using KestrelServer server = await KestrelServer.StartAsync(200);
        SharedConcurrencyLimit limit = new(1);
        ServiceCollection services = new();
        services.AddHttpClient("shop", client => client.BaseAddress = server.Address).AddHttpMessageHandler(_ => new HttpPolicyHandler(limit));
        services.AddHttpClient("stock", client => client.BaseAddress = server.Address).AddHttpMessageHandler(_ => new HttpPolicyHandler(limit));
        await using ServiceProvider provider = services.BuildServiceProvider();
        IHttpClientFactory factory = provider.GetRequiredService<IHttpClientFactory>();

        await limit.EnterAsync(Token);
        Task<string>[] calls = [factory.CreateClient("shop").GetStringAsync("/", Token), factory.CreateClient("stock").GetStringAsync("/", Token)];
        await Guard.UntilAsync(() => limit.Waiting == 2, "the calls of both clients");
        limit.Leave();
        await Task.WhenAll(calls).WithinAsync();
    }

    private static HttpClient ClientOf(KestrelServer server, HttpPolicyHandler handler)
    {
        handler.InnerHandler = new SocketsHttpHandler();
        return new HttpClient(handler) { BaseAddress = server.Address };
    }

    private sealed class AddsHeader : DelegatingHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            request.Headers.Add("Added", "3");
            return base.SendAsync(request, cancellationToken);
        }
    }

    /// <summary>Ignores its token. All answers are refusals: the first comes when the gate opens, the others at once.</summary>
    private sealed class SlowFirst(Gate gate) : HttpMessageHandler
    {
        private int _calls;

        public RecordedContent First { get; } = new();

        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            int number = Interlocked.Increment(ref _calls);
            if (number == 1)
            {
                await gate.WaitAsync(CancellationToken.None);
                return new HttpResponseMessage(HttpStatusCode.ServiceUnavailable) { Content = First };
            }

            return new HttpResponseMessage(HttpStatusCode.ServiceUnavailable) { Content = new StringContent($"answer {number}") };
        }
    }

    private sealed class RecordedContent() : ByteArrayContent([])
    {
        private volatile bool _isDisposed;

        public bool IsDisposed => _isDisposed;

        protected override void Dispose(bool disposing)
        {
            _isDisposed = true;
            base.Dispose(disposing);
        }
    }
}

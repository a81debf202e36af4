using System.Net;
using System.Net.Sockets;
using Weir.Resilience;

namespace Weir.Http.Tests;

public class HttpRetryTests
{
    private readonly ManualTimeProvider _time = new();

    [Theory]
    [InlineData(200, false)]
    [InlineData(301, false)]
    [InlineData(400, false)]
    [InlineData(404, false)]
    [InlineData(408, true)]
    [InlineData(425, true)]
    [InlineData(429, true)]
    [InlineData(499, false)]
    [InlineData(500, true)]
    [InlineData(501, false)]
    [InlineData(502, true)]
    [InlineData(503, true)]
    [InlineData(504, true)]
    [InlineData(505, false)]
    [InlineData(507, true)]
    [InlineData(508, false)]
    [InlineData(511, false)]
    [InlineData(520, true)]
    [InlineData(600, false)]
    public void IsTransient_Status_IsThatOfTheList(int status, bool expected)
    {
        Assert.Equal(expected, HttpRetry.IsTransient((HttpStatusCode)status));
        Assert.Equal(expected, HttpRetry.IsTransient(new HttpRequestException("", null, (HttpStatusCode)status)));
        Assert.Equal(expected, HttpRetry.IsTransient(new HttpStatusException((HttpStatusCode)status)));
    }

    [Fact]
    public void IsTransient_OtherFailures_AreThoseOfThePlatform()
    {
        Assert.True(HttpRetry.IsTransient(new HttpRequestException("no response")));
        Assert.True(HttpRetry.IsTransient(new IOException("", new SocketException())));
        Assert.True(HttpRetry.IsTransient(new TimeoutException()));
        Assert.False(HttpRetry.IsTransient(new OperationCanceledException()));
        Assert.False(HttpRetry.IsTransient(new FormatException()));
    }

    [Theory]
    [InlineData("7", null, 7)]
    [InlineData("0", null, 0)]
    [InlineData("Thu, 01 Jan 2026 00:00:30 GMT", null, 30)]
    [InlineData("Thu, 01 Jan 2026 00:00:30 GMT", "Thu, 01 Jan 2026 00:00:10 GMT", 20)]
    [InlineData("Wed, 31 Dec 2025 00:00:00 GMT", null, 0)]
    [InlineData("soon", null, null)]
    [InlineData("-3", null, null)]
    [InlineData(null, null, null)]
    public void GetRetryAfter_Header_IsADelay(string? header, string? date, int? seconds)
    {
        using HttpResponseMessage response = new(HttpStatusCode.ServiceUnavailable);
        response.Headers.TryAddWithoutValidation("Retry-After", header);
        response.Headers.TryAddWithoutValidation("Date", date);

        Assert.Equal(seconds is { } s ? TimeSpan.FromSeconds(s) : null, response.GetRetryAfter(_time));
        HttpStatusException e = Assert.Throws<HttpStatusException>(() => response.EnsureSuccess(_time));
        Assert.Equal(response.GetRetryAfter(_time), HttpRetry.RetryAfter(e));
        Assert.Null(HttpRetry.RetryAfter(new HttpRequestException()));
    }

    [Fact]
    public void EnsureSuccess_Success_IsTheSameResponse()
    {
        using HttpResponseMessage response = new(HttpStatusCode.NoContent);
        Assert.Same(response, response.EnsureSuccess());
    }

    [Fact]
    public void HttpStatusException_Message_HidesWhatMayBeSecret()
    {
        HttpStatusException e = new(HttpStatusCode.Forbidden, "Forbidden", HttpMethod.Put, new Uri("https://me:word@example.org:8443/a/b?sig=x#y"));
        Assert.Equal("PUT https://example.org:8443/a/b was answered with 403 (Forbidden).", e.Message);
        Assert.Equal(
            "The request a/b was answered with 500.", new HttpStatusException((HttpStatusCode)500, "", null, new Uri("a/b?k", UriKind.Relative)).Message);
        Assert.Equal(HttpStatusCode.Forbidden, e.StatusCode);
        Assert.Contains("sig=x", e.Address!.Query, StringComparison.Ordinal);
    }

    [Fact(Timeout = 90_000)]
    public async Task StatusHandler_GetString_KeepsTheDelayForThePolicies()
    {
        await using LoopbackServer server = new((_, number) => number == 0
            ? LoopbackServer.Answer.Of(503, "Retry-After: 11")
            : LoopbackServer.Answer.Of(200, body: "done"u8.ToArray()));
        using HttpClient client = new(new HttpStatusHandler(new SocketsHttpHandler()));
        PolicyChain<string> chain = new(new PolicyChainOptions<string>
        {
            Retry = new RetryOptions { IsTransient = HttpRetry.IsTransient, DelayHint = HttpRetry.RetryAfter },
            TimeProvider = _time,
        });

        Task<string> call = chain.ExecuteAsync(token => new ValueTask<string>(client.GetStringAsync(server.Address, token))).AsTask();
        await Guard.UntilAsync(() => _time.NextDue is not null, "the wait for the second attempt");
        Assert.Equal(TimeSpan.FromSeconds(11), _time.NextDue);
        _time.Advance(TimeSpan.FromSeconds(11));

        Assert.Equal("done", await call.WithinAsync());
        Assert.Equal(2, server.Requests.Count);
    }

    [Fact(Timeout = 90_000)]
    public async Task StatusHandler_SynchronousSend_ThrowsToo()
    {
        await using LoopbackServer server = new((_, _) => LoopbackServer.Answer.Of(429, "Retry-After: 5"));
        using HttpClient client = new(new HttpStatusHandler(new SocketsHttpHandler()));
        using HttpRequestMessage request = new(HttpMethod.Get, server.Address);

        Task<HttpStatusException> thrown = Task.Run(() => Assert.Throws<HttpStatusException>(() => client.Send(request)));
        Assert.Equal(TimeSpan.FromSeconds(5), (await thrown.WithinAsync()).RetryAfter);
    }

    [Fact(Timeout = 90_000)]
    public async Task ShouldRetry_OfResponses_WaitsAsAskedAndReturnsTheLast()
    {
        await using LoopbackServer server = new((_, number) => number == 1
            ? LoopbackServer.Answer.Of(429)
            : LoopbackServer.Answer.Of(503, "Retry-After: 11"));
        using HttpClient client = new();
        PolicyChain<HttpResponseMessage> chain = new(new PolicyChainOptions<HttpResponseMessage>
        {
            Retry = new RetryOptions { MaxRetries = 2, BackoffStrategy = BackoffStrategy.Exponential },
            ShouldRetry = HttpRetry.ShouldRetry,
            DelayHint = HttpRetry.RetryAfter,
            TimeProvider = _time,
        });

        Task<HttpResponseMessage> call = chain.ExecuteAsync(token => new ValueTask<HttpResponseMessage>(client.GetAsync(server.Address, token))).AsTask();
        await Guard.UntilAsync(() => _time.NextDue == TimeSpan.FromSeconds(11), "the wait that the first response asks for");
        _time.Advance(TimeSpan.FromSeconds(11));
        await Guard.UntilAsync(() => _time.NextDue == TimeSpan.FromSeconds(11.2), "the wait by the formula");
        _time.Advance(TimeSpan.FromSeconds(0.2));

        using HttpResponseMessage last = await call.WithinAsync();
        Assert.Equal((HttpStatusCode.ServiceUnavailable, 3), (last.StatusCode, server.Requests.Count));
        Assert.Empty(await last.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
    }
}

using System.ComponentModel;
using System.Data.Common;
using System.Net;
using System.Net.Sockets;

namespace Weir.Resilience.Tests.Retry;

public class TransientTests
{
    private static readonly CancellationToken Cancelled = new(canceled: true);

    public static TheoryData<string, Exception> Passing() => new()
    {
        { "timeout", new TimeoutException() },
        { "attempt timeout", TimeoutFailure.OfAttempt(TimeSpan.FromSeconds(1), 1) },
        { "HttpClient.Timeout", new TaskCanceledException("The request was canceled.", new TimeoutException("slow", new TaskCanceledException())) },
        { "socket", new SocketException((int)SocketError.ConnectionReset) },
        { "socket inside an IOException", new IOException("connection", new SocketException()) },
        { "socket inside two", new IOException("tls", new IOException("connection", new SocketException())) },
        { "read timeout of a stream", new IOException("read", new TimeoutException()) },
        { "no answer", new HttpRequestException("refused", new SocketException()) },
        { "no answer without a cause", new HttpRequestException("refused") },
        { "answer that broke off", new HttpIOException(HttpRequestError.ResponseEnded) },
        { "408", Http(HttpStatusCode.RequestTimeout) },
        { "429", Http(HttpStatusCode.TooManyRequests) },
        { "500", Http(HttpStatusCode.InternalServerError) },
        { "503", Http(HttpStatusCode.ServiceUnavailable) },
        { "599", Http((HttpStatusCode)599) },
        { "database", new DatabaseException(isTransient: true) },
        { "task of one", new AggregateException(new TimeoutException()) },
        { "task of two", new AggregateException(new TimeoutException(), new AggregateException(Http(HttpStatusCode.BadGateway))) },
    };

    public static TheoryData<string, Exception> Lasting() => new()
    {
        { "bug", new InvalidOperationException() },
        { "bad input", new FormatException() },
        { "bug around a socket", new InvalidOperationException("wrapped", new SocketException()) },
        { "no such file", new FileNotFoundException() },
        { "disk full", new IOException("disk full") },
        { "file around a bug", new IOException("file", new UnauthorizedAccessException()) },
        { "400", Http(HttpStatusCode.BadRequest) },
        { "404 although it was slow", new HttpRequestException("no", new TimeoutException(), HttpStatusCode.NotFound) },
        { "redirect", Http(HttpStatusCode.Moved) },
        { "600", Http((HttpStatusCode)600) },
        { "database that says no", new DatabaseException(isTransient: false) },
        { "system", new Win32Exception(2) },
        { "cancelled", new OperationCanceledException(Cancelled) },
        { "cancelled around a socket", new OperationCanceledException("stop", new SocketException(), Cancelled) },
        { "open circuit", new CircuitBreakerOpenException() },
        { "refused rate", new RateLimitRejectedException() },
        { "full queue", new ConcurrencyLimitRejectedException() },
        { "task that met a full queue", new AggregateException(new ConcurrencyLimitRejectedException()) },
        { "two, one of which lasts", new AggregateException(new TimeoutException(), new FormatException()) },
        { "two, one of which was cancelled", new AggregateException(new TimeoutException(), new TaskCanceledException()) },
        { "none", new AggregateException() },
        { "task that met an open circuit", new AggregateException("around", new CircuitBreakerOpenException()) },
    };

    [Theory]
    [MemberData(nameof(Passing))]
    public void IsTransient_WhatThePlatformCallsTransient_IsTriedAgainByDefault(string what, Exception exception)
    {
        Assert.True(Transient.IsTransient(exception), what);
        Assert.NotNull(new RetryPolicy().GetDelay(1, exception, TimeSpan.Zero));
    }

    [Theory]
    [MemberData(nameof(Lasting))]
    public void IsTransient_AnythingElse_IsNotTriedAgainByDefault(string what, Exception exception)
    {
        Assert.False(Transient.IsTransient(exception), what);
        Assert.Null(new RetryPolicy().GetDelay(1, exception, TimeSpan.Zero));
    }

    [Fact]
    public void IsTransient_Null_IsRefused() => Assert.Throws<ArgumentNullException>("exception", () => Transient.IsTransient(null!));

    [Fact(Timeout = 90_000)]
    public async Task IsTransient_WhatHttpClientThrows_IsKnown()
    {
        // The exceptions of the platform itself, so that a change of their shape is seen.
        using var slow = new HttpClient(new Answer(Timeout.InfiniteTimeSpan)) { Timeout = TimeSpan.FromMilliseconds(1) };
        Assert.True(
            Transient.IsTransient(await Assert.ThrowsAnyAsync<Exception>(() => slow.GetStringAsync(new Uri("http://localhost/"), CancellationToken.None))));

        using var caller = new CancellationTokenSource();
        using var patient = new HttpClient(new Answer(Timeout.InfiniteTimeSpan));
        Task<string> pending = patient.GetStringAsync(new Uri("http://localhost/"), caller.Token);
        await caller.CancelAsync();
        Assert.False(Transient.IsTransient(await Assert.ThrowsAnyAsync<Exception>(() => pending)));

        using var busy = new HttpClient(new Answer(TimeSpan.Zero));
        Assert.True(
            Transient.IsTransient(await Assert.ThrowsAnyAsync<Exception>(() => busy.GetStringAsync(new Uri("http://localhost/503"), CancellationToken.None))));
        Assert.False(
            Transient.IsTransient(await Assert.ThrowsAnyAsync<Exception>(() => busy.GetStringAsync(new Uri("http://localhost/404"), CancellationToken.None))));
    }

    [Fact]
    public void GetDelay_OwnFunctionAroundTheDefault_AddsToIt()
    {
        var policy = new RetryPolicy(new RetryOptions { IsTransient = static e => Transient.IsTransient(e) || e is TestException });
        Assert.NotNull(policy.GetDelay(1, new TestException("mine"), TimeSpan.Zero));
        Assert.NotNull(policy.GetDelay(1, new TimeoutException(), TimeSpan.Zero));
        Assert.Null(policy.GetDelay(1, new FormatException(), TimeSpan.Zero));
    }

    private static HttpRequestException Http(HttpStatusCode status) => new("answer", null, status);

    private sealed class DatabaseException(bool isTransient) : DbException("database")
    {
        public override bool IsTransient => isTransient;
    }

    private sealed class Answer(TimeSpan after) : HttpMessageHandler
    {
        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            await Task.Delay(after, TimeProvider.System, cancellationToken);
            return new HttpResponseMessage(request.RequestUri!.AbsolutePath == "/404" ? HttpStatusCode.NotFound : HttpStatusCode.ServiceUnavailable);
        }
    }
}

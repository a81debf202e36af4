using System.Net;
using Weir.Resilience;

namespace Weir.Http.Tests;

public class HttpRetryStatusesTests
{
    private static readonly HttpRetryStatuses Busy = new(HttpStatusCode.Locked, HttpStatusCode.ServiceUnavailable);

    [Theory]
    [InlineData(423, true)]
    [InlineData(503, true)]
    [InlineData(429, false)]
    [InlineData(500, false)]
    [InlineData(200, false)]
    public async Task IsTransient_Status_IsOneOfThoseChosen(int status, bool expected)
    {
        HttpStatusCode code = (HttpStatusCode)status;
        Assert.Equal(expected, Busy.IsTransient(code));
        Assert.Equal(expected, Busy.IsTransient(new HttpRequestException("", null, code)));

        // As an option of a call that returns its responses.
        int calls = 0;
        PolicyChain<HttpResponseMessage> chain = new(new PolicyChainOptions<HttpResponseMessage>
        {
            Retry = new RetryOptions { MaxRetries = 1, BaseDelay = TimeSpan.Zero },
            ShouldRetry = Busy.ShouldRetry,
        });
        using HttpResponseMessage last = await chain.ExecuteAsync(
            _ =>
            {
                calls++;
                return new ValueTask<HttpResponseMessage>(new HttpResponseMessage(code));
            },
            TestContext.Current.CancellationToken);
        Assert.Equal(expected ? 2 : 1, calls);
        Assert.Equal(code, last.StatusCode);
    }

    [Fact]
    public void IsTransient_WithoutAStatus_IsThatOfThePlatform()
    {
        Assert.True(Busy.IsTransient(new HttpRequestException()));
        Assert.True(new HttpRetryStatuses().IsTransient(new TimeoutException()));
        Assert.False(Busy.IsTransient(new FormatException()));
        Assert.Throws<ArgumentNullException>(() => Busy.IsTransient(null!));
    }

    [Theory]
    [InlineData(200)]
    [InlineData(399)]
    [InlineData(600)]
    public void Create_StatusThatIsNoFailure_IsRefused(int status)
    {
        ArgumentOutOfRangeException error = Assert.Throws<ArgumentOutOfRangeException>("statuses", () => new HttpRetryStatuses((HttpStatusCode)status));
        Assert.StartsWith($"statuses must be from 400 to 599; one is {status}.", error.Message, StringComparison.Ordinal);
    }
}

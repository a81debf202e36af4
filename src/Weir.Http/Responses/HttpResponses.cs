using System.Net.Http.Headers;

namespace Weir.Http;

/// <summary>Reads from a response what the next attempt needs.</summary>
public static class HttpResponses
{
    /// <summary>Throws if the status of a response is not a success, and keeps the server's <c>Retry-After</c>.</summary>
    /// <param name="response">The response.</param>
    /// <param name="timeProvider">The clock, for a <c>Retry-After</c> that is a date; <see langword="null"/> for the system's.</param>
    /// <returns>The same response, if its status is a success.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="response"/> is <see langword="null"/>.</exception>
    /// <exception cref="HttpStatusException">The status is not a success. The response has been disposed of.</exception>
    public static HttpResponseMessage EnsureSuccess(this HttpResponseMessage response, TimeProvider? timeProvider = null)
    {
        ArgumentNullException.ThrowIfNull(response);
        if (response.IsSuccessStatusCode)
        {
            return response;
        }

        TimeSpan? retryAfter = response.GetRetryAfter(timeProvider);
        HttpRequestMessage? request = response.RequestMessage;
        HttpStatusException failure = new(response.StatusCode, response.ReasonPhrase, request?.Method, request?.RequestUri, retryAfter);

        // Otherwise a response whose content is never read would keep its connection.
        response.Dispose();
        throw failure;
    }

    /// <summary>How long the server asks to wait before the next request: its header <c>Retry-After</c> (RFC 9110, section 10.2.3).</summary>
    /// <param name="response">The response.</param>
    /// <param name="timeProvider">The clock, for a header that is a date; <see langword="null"/> for the system's.</param>
    /// <returns>
    /// The delay, zero if it is over; <see langword="null"/> if there is no header, or one that is no number of seconds and no date. A date counts from the
    /// server's own clock, its header <c>Date</c>, if it sent one, so that a difference between the two clocks does no harm.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="response"/> is <see langword="null"/>.</exception>
    public static TimeSpan? GetRetryAfter(this HttpResponseMessage response, TimeProvider? timeProvider = null)
    {
        ArgumentNullException.ThrowIfNull(response);
        RetryConditionHeaderValue? header = response.Headers.RetryAfter;
        TimeSpan? delay = header?.Delta ?? header?.Date - (response.Headers.Date ?? (timeProvider ?? TimeProvider.System).GetUtcNow());
        return delay < TimeSpan.Zero ? TimeSpan.Zero : delay;
    }
}

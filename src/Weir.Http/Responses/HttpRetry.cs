using System.Collections.Frozen;
using System.Net;
using System.Net.Http.Headers;
using Weir.Resilience;

namespace Weir.Http;

/// <summary>Which failures of HTTP calls are worth another attempt, and when: functions for <c>IsTransient</c> and <c>DelayHint</c>.</summary>
/// <remarks>
/// <para>
/// The functions know nothing about the request. A call that changes something, such as a POST, may have had its effect although the response was lost. Retry
/// it only if the server recognises repetitions, for example by an idempotency key.
/// </para>
/// <para>All methods are thread-safe.</para>
/// </remarks>
public static class HttpRetry
{
    /// <summary>Whether a status means that the same request may succeed later.</summary>
    /// <param name="status">The status of a response.</param>
    /// <returns>
    /// <see langword="true"/> for 408 (request timeout), 425 (too early), 429 (too many requests), and every 5xx except 501 (not implemented), 505 (HTTP
    /// version not supported), 506 (variant also negotiates), 508 (loop detected), 510 (not extended) and 511 (network authentication required), which do not
    /// go away.
    /// </returns>
    /// <remarks>The statuses are those of RFC 9110, RFC 6585 and RFC 8470.</remarks>
    public static bool IsTransient(HttpStatusCode status) => (int)status switch
    {
        408 or 425 or 429 => true,
        501 or 505 or 506 or 508 or 510 or 511 => false,
        >= 500 and <= 599 => true,
        _ => false,
    };

    /// <summary>Whether a failure is transient. Set it as <see cref="RetryOptions.IsTransient"/>.</summary>
    /// <param name="exception">A call's exception.</param>
    /// <returns>
    /// For an <see cref="HttpRequestException"/> with a status, what <see cref="IsTransient(HttpStatusCode)"/> says of the status; for everything else, what
    /// <see cref="Transient.IsTransient"/> says: <see langword="true"/> for connections that broke off and for time limits.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="exception"/> is <see langword="null"/>.</exception>
    public static bool IsTransient(Exception exception) =>
        exception is HttpRequestException { StatusCode: { } status } ? IsTransient(status) : Transient.IsTransient(exception);

    /// <summary>The delay that the server asked for with <c>Retry-After</c>. Set it as <see cref="RetryOptions.DelayHint"/>.</summary>
    /// <param name="exception">A call's exception.</param>
    /// <returns>
    /// The delay of an <see cref="HttpStatusException"/>; <see langword="null"/> if the server stated none, or if the exception is of another type. The
    /// platform's own <see cref="HttpRequestException"/> does not keep the header: use <see cref="HttpStatusHandler"/> or
    /// <see cref="HttpResponses.EnsureSuccess"/>.
    /// </returns>
    public static TimeSpan? RetryAfter(Exception exception) => (exception as HttpStatusException)?.RetryAfter;

    /// <summary>
    /// Whether an attempt that returns its response, whatever the status, is followed by another: a function for <c>ShouldRetry</c>.
    /// </summary>
    /// <param name="outcome">How the attempt ended.</param>
    /// <returns>What <see cref="IsTransient(HttpStatusCode)"/> says of a response and <see cref="IsTransient(Exception)"/> of an exception.</returns>
    /// <remarks>The response of the last attempt is returned to the caller; the others are disposed of.</remarks>
    public static bool ShouldRetry(AttemptOutcome<HttpResponseMessage> outcome) =>
        outcome.HasResult ? IsTransient(outcome.Result.StatusCode) : IsTransient(outcome.Exception);

    /// <summary>The delay that the server asked for with <c>Retry-After</c>, of a response or an exception: the <c>DelayHint</c> that goes with it.</summary>
    /// <param name="outcome">How the attempt ended.</param>
    /// <returns>The delay; <see langword="null"/> if the server stated none.</returns>
    public static TimeSpan? RetryAfter(AttemptOutcome<HttpResponseMessage> outcome) =>
        outcome.HasResult ? outcome.Result.GetRetryAfter() : RetryAfter(outcome.Exception);
}

/// <summary>Statuses of your choice that are worth another attempt, in place of those of <see cref="HttpRetry"/>. Immutable and thread-safe.</summary>
/// <remarks>What has no status, such as a connection that broke off, is judged by <see cref="Transient.IsTransient"/> as there.</remarks>
public sealed class HttpRetryStatuses
{
    private readonly FrozenSet<HttpStatusCode> _statuses;

    /// <summary>Creates the choice.</summary>
    /// <param name="statuses">The statuses after which a call is tried again, and no others; none if only calls without a response are.</param>
    /// <exception cref="ArgumentNullException"><paramref name="statuses"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentOutOfRangeException">A status is not in 400 to 599: other responses are no failures.</exception>
    public HttpRetryStatuses(params HttpStatusCode[] statuses)
    {
        ArgumentNullException.ThrowIfNull(statuses);
        foreach (HttpStatusCode status in statuses)
        {
            if ((int)status is < 400 or > 599)
            {
                throw new ArgumentOutOfRangeException(nameof(statuses), $"statuses must be from 400 to 599; one is {(int)status}.");
            }
        }

        _statuses = statuses.ToFrozenSet();
    }

    /// <summary>Whether the status is one of those chosen.</summary>
    /// <param name="status">The status of a response.</param>
    /// <returns><see langword="true"/> if the call is tried again.</returns>
    public bool IsTransient(HttpStatusCode status) => _statuses.Contains(status);

    /// <summary>Whether a failure is worth another attempt. Set it as <see cref="RetryOptions.IsTransient"/>.</summary>
    /// <param name="exception">A call's exception.</param>
    /// <returns>
    /// For an <see cref="HttpRequestException"/> with a status, whether it is one of those chosen; for everything else, what
    /// <see cref="Transient.IsTransient"/> says.
    /// </returns>
    /// <exception cref="ArgumentNullException"><paramref name="exception"/> is <see langword="null"/>.</exception>
    public bool IsTransient(Exception exception) =>
        exception is HttpRequestException { StatusCode: { } status } ? IsTransient(status) : Transient.IsTransient(exception);

    /// <summary>Whether an attempt that returns its response, whatever the status, is followed by another: a function for <c>ShouldRetry</c>.</summary>
    /// <param name="outcome">How the attempt ended.</param>
    /// <returns>What <see cref="IsTransient(HttpStatusCode)"/> says of a response and <see cref="IsTransient(Exception)"/> of an exception.</returns>
    public bool ShouldRetry(AttemptOutcome<HttpResponseMessage> outcome) =>
        outcome.HasResult ? IsTransient(outcome.Result.StatusCode) : IsTransient(outcome.Exception);
}

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

        HttpStatusException failure = response.ToException(timeProvider);

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

    /// <summary>The exception of a response, with what its server said. The response stays as it is.</summary>
    internal static HttpStatusException ToException(this HttpResponseMessage response, TimeProvider? timeProvider = null)
    {
        HttpRequestMessage? request = response.RequestMessage;
        return new HttpStatusException(
            response.StatusCode, response.ReasonPhrase, request?.Method, request?.RequestUri, response.GetRetryAfter(timeProvider));
    }
}

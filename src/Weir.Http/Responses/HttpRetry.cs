using System.Net;
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

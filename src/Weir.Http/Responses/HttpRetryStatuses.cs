using System.Collections.Frozen;
using System.Net;
using Weir.Resilience;

namespace Weir.Http;

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

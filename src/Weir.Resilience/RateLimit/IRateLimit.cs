namespace Weir.Resilience;

/// <summary>Paces calls: Weir's own <see cref="TokenBucket"/>, or anything else that admits calls one by one.</summary>
/// <remarks>Set one of your own as <c>RateLimit = RateLimitOptions.Shared(limit)</c>.</remarks>
public interface IRateLimit
{
    /// <summary>Waits until a call may be made.</summary>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <returns>
    /// What to dispose when the call has ended, or <see langword="null"/>. Await it once and without delay: until then, a waiting call may hold up those behind
    /// it.
    /// </returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="RateLimitRejectedException">The rate limit rejects the call.</exception>
    ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken);
}

namespace Weir.Resilience;

/// <summary>What paces calls: Weir's own <see cref="TokenBucket"/>, or anything else that lets calls in one by one.</summary>
public interface IRateGate
{
    /// <summary>Waits until a call may be made.</summary>
    /// <param name="cancellationToken">Ends the waiting.</param>
    /// <returns>What to dispose when the call has ended; <see langword="null"/> when there is nothing. To be awaited once and at once: who waits may hold up those behind him until then.</returns>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled.</exception>
    /// <exception cref="RateLimitRejectedException">The gate does not let the call in at all.</exception>
    ValueTask<IDisposable?> EnterAsync(CancellationToken cancellationToken);
}

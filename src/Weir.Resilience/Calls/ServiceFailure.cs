namespace Weir.Resilience;

/// <summary>What a call's exception says about the called service, for all that measure it.</summary>
internal static class ServiceFailure
{
    /// <summary>Whether an exception is a failure of the called service. Not for what the caller has cancelled, which says nothing.</summary>
    /// <param name="exception">The exception of the call.</param>
    /// <param name="isFailure">The user's function, or null: every exception is a failure, but for a cancellation that is no timeout and for what a limit inside
    /// the call refused, in this process, because then the service was not asked.</param>
    /// <returns>Null if it says nothing about the service.</returns>
    public static bool? Of(Exception exception, Func<Exception, bool>? isFailure) =>
        isFailure is not null ? isFailure(exception)
        : (exception is OperationCanceledException && !TimeoutFailure.Is(exception)) || exception is ConcurrencyLimitRejectedException or RateLimitRejectedException
            ? null
            : true;
}

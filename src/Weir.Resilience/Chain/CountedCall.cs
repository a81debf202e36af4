using System.Runtime.CompilerServices;

namespace Weir.Resilience;

/// <summary>Tells listeners what becomes of a call through a chain.</summary>
internal static class CountedCall
{
    /// <summary>Counts the end of a call.</summary>
    /// <param name="pending">The call.</param>
    /// <param name="name">The name of its chain.</param>
    /// <param name="callerToken">The caller's token.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<TResult> EndAsync<TResult>(ValueTask<TResult> pending, KeyValuePair<string, object?>? name, CancellationToken callerToken)
    {
        try
        {
            TResult result = await pending.ConfigureAwait(false);
            PolicyMeter.Ended(name, "succeeded", null);
            return result;
        }
        catch (OperationCanceledException) when (callerToken.IsCancellationRequested)
        {
            PolicyMeter.Ended(name, "cancelled", null);
            throw;
        }
        catch (Exception failure)
        {
            PolicyMeter.Ended(name, TimeoutFailure.Is(failure) ? "timed_out" : "failed", failure);
            throw;
        }
    }
}

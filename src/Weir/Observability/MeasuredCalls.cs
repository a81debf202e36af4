using System.Diagnostics;

namespace Weir.Observability;

/// <summary>Wraps the user's selector and records the duration of each call.</summary>
internal static class MeasuredCalls
{
    public static Func<TItem, CancellationToken, ValueTask<TResult>> Of<TItem, TResult>(
        RunLabel label, Func<TItem, CancellationToken, ValueTask<TResult>> selector) =>
        async (item, cancellationToken) =>
        {
            long started = Stopwatch.GetTimestamp();
            Exception? failure = null;
            try
            {
                return await selector(item, cancellationToken).ConfigureAwait(false);
            }
            catch (Exception error)
            {
                failure = error;
                throw;
            }
            finally
            {
                WeirMeter.Call(label, Stopwatch.GetElapsedTime(started), failure);
            }
        };
}

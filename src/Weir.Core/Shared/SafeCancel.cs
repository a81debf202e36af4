namespace Weir.Core;

/// <summary>Cancels a source whose callbacks are user code. Their exceptions are not part of any outcome.</summary>
internal static class SafeCancel
{
    /// <summary>Runs the callbacks here.</summary>
    public static void Now(CancellationTokenSource source)
    {
        try
        {
            source.Cancel();
        }
        catch (Exception e) when (e is AggregateException or ObjectDisposedException)
        {
            // See above; or whoever had the source has ended.
        }
    }

    /// <summary>Cancels the token now and runs the callbacks on the pool, so that none can delay the current thread.</summary>
    public static void Later(CancellationTokenSource source)
    {
        Task callbacks = source.CancelAsync();
        if (!callbacks.IsCompletedSuccessfully)
        {
            _ = ObserveAsync(callbacks);
        }
    }

    private static async Task ObserveAsync(Task callbacks) =>
        await callbacks.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
}

namespace Weir.Resilience;

/// <summary>
/// Runs what timers and tokens call back. Nobody is above it: what it throws would end the process, or reach whoever cancels a token. There may be no memory,
/// the clock may be the user's, and tokens have callbacks of the user.
/// </summary>
internal static class SafeCallback
{
    /// <summary>Runs a callback.</summary>
    /// <param name="owner">Whose callback it is.</param>
    /// <param name="callback">The callback.</param>
    /// <param name="failed">Gets what it throws; null if nobody waits for it.</param>
    public static void Run<T>(T owner, Action<T> callback, Action<T, Exception>? failed = null)
    {
        try
        {
            callback(owner);
        }
        catch (Exception e)
        {
            Report(owner, e, failed);
        }
    }

    /// <summary>Cancels a source. What the user's callbacks throw is part of no outcome.</summary>
    public static void Cancel(CancellationTokenSource source)
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

    private static void Report<T>(T owner, Exception error, Action<T, Exception>? failed)
    {
        try
        {
            failed?.Invoke(owner, error);
        }
        catch (Exception)
        {
            // There is no memory to report it with.
        }
    }
}

namespace Weir.Core.Metering;

/// <summary>
/// Makes calls that may run observers' code: listeners to spans and instruments, and handlers for changes of the current span. Their exceptions are discarded,
/// because observing a run must not change its result.
/// </summary>
internal static class SafeCall
{
    public static void Invoke<TState>(Action<TState> call, TState state)
    {
        try
        {
            call(state);
        }
        catch (Exception)
        {
            // See above.
        }
    }

    /// <summary>What a call returns, such as an instrument, which each listener is told of; null if it threw.</summary>
    public static TResult? Try<TResult>(Func<TResult?> call)
        where TResult : class =>
        Invoke(static call => call(), call);

    public static TResult? Invoke<TState, TResult>(Func<TState, TResult?> call, TState state)
        where TResult : class
    {
        try
        {
            return call(state);
        }
        catch (Exception)
        {
            // See above.
            return null;
        }
    }
}

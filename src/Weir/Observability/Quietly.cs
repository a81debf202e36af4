namespace Weir.Observability;

/// <summary>
/// Calls that may run the code of whoever watches: listeners of spans and instruments, and handlers of the current span's change. What they throw is dropped, because nobody's way of
/// watching a run may change what comes out of it.
/// </summary>
internal static class Quietly
{
    public static void Do<TState>(Action<TState> call, TState state)
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

    public static TResult? Get<TState, TResult>(Func<TState, TResult?> call, TState state)
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

namespace Weir.Explore.Model;

/// <summary>Calls of the platform's awaiters outside of async methods, and results, for which a thread waits if they are not there.</summary>
internal static class AwaiterCalls
{
    public static void OnCompleted<TAwaiter>(ref TAwaiter awaiter, Action continuation) => Awaiters<TAwaiter>.Register!(ref awaiter, continuation);

    /// <summary>Before the awaiter's own <c>GetResult</c>.</summary>
    public static void Wait<TAwaiter>(ref TAwaiter awaiter) => Waits.For(Awaiters<TAwaiter>.Task!(ref awaiter));
}

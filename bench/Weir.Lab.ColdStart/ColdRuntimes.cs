using Weir.Runtimes;

namespace Weir.Lab.ColdStart;

/// <summary>The runtimes. To make one is part of the first call, to dispose it is not.</summary>
internal static class ColdRuntimes
{
    public static Task<long> DirectAsync() => RunAsync(new DirectRuntime());

    public static Task<long> ConcurrentAsync() => RunAsync(new ConcurrentRuntime(ColdArms.Limit));

    public static Task<long> ParallelAsync() => RunAsync(new ParallelRuntime());

    public static Task<long> AutoAsync() => RunAsync(new AutoRuntime());

    private static async Task<long> RunAsync(IExecutionRuntime runtime)
    {
        long sum = 0;
        foreach (ItemOutcome<int, int> outcome in await runtime.ProcessManyAsync<int, int>(ColdItems.Numbers(), ColdItems.TwiceAsync))
        {
            sum += outcome.GetValueOrThrow();
        }

        return sum;
    }
}

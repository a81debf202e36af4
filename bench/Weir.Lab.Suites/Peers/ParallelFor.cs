namespace Weir.Lab.Suites.Peers;

/// <summary><c>Parallel.For</c>, for work that never waits.</summary>
internal static class ParallelFor
{
    public static int[] Run(int[] source, int limit, ItemCall call)
    {
        int[] results = new int[source.Length];
        Parallel.For(
            0,
            source.Length,
            new ParallelOptions { MaxDegreeOfParallelism = limit },
            index =>
            {
                ValueTask<int> pending = call(source[index], CancellationToken.None);
                results[index] = pending.IsCompletedSuccessfully
                    ? pending.Result
                    : throw new InvalidOperationException("Parallel.For cannot await, so it is not compared where items wait.");
            });
        return results;
    }
}

namespace Weir.Cli.Commands.Hash;

/// <summary>The rounds of one order, one after the other in this process.</summary>
internal static class HashRounds
{
    private const int WarmUpBytes = 64 * 1024;
    private const int WarmUpFiles = 32;

    public static async IAsyncEnumerable<MeasureAnswer> RunAsync(HashOrder order, [EnumeratorCancellation] CancellationToken stop)
    {
        await WarmUpAsync(order);
        for (int i = 0; i < order.Rounds && !stop.IsCancellationRequested; i++)
        {
            RoundRecord? round;
            try
            {
                round = await HashRound.RunAsync(order, stop);
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
                round = null;
            }

            if (round is null)
            {
                // Before anything was measured.
                yield break;
            }

            yield return new MeasureAnswer(round);
        }
    }

    /// <summary>Makes the small files of the warm-up. Once for all rounds: making and flushing them takes longer than the warm-up on them.</summary>
    /// <param name="directory">Where. It is removed by the caller.</param>
    /// <param name="stop">Stops it.</param>
    public static void MakeWarmUpFiles(string directory, CancellationToken stop) =>
        RandomFiles.Ensure(directory, WarmUpFiles, WarmUpBytes, static _ => { }, stop);

    // Warms the code up on small files, so that nothing is compiled in a measured round.
    private static async Task WarmUpAsync(HashOrder order)
    {
        HashOrder small = order with
        {
            Directory = order.WarmUpDirectory, Files = WarmUpFiles, FileSize = WarmUpBytes, Workers = 1, InFlight = null,
        };
        await HashRound.RunAsync(small, CancellationToken.None);
    }
}

using System.Runtime.CompilerServices;
using Weir.Cli.Processes;
using Weir.Lab.Results;

namespace Weir.Cli.Commands.Hash;

/// <summary>The rounds of one order, one after the other in this process.</summary>
internal static class HashRounds
{
    public static async IAsyncEnumerable<MeasureAnswer> RunAsync(HashOrder order, [EnumeratorCancellation] CancellationToken stop)
    {
        await HashRound.WarmUpAsync(order).ConfigureAwait(false);
        for (int round = 0; round < order.Rounds && !stop.IsCancellationRequested; round++)
        {
            RoundRecord record;
            try
            {
                record = await HashRound.RunAsync(order, stop).ConfigureAwait(false);
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
                // Before anything was measured.
                yield break;
            }

            yield return new MeasureAnswer(record);
        }
    }
}

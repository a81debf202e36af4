using Weir.Lab.Statistics;

namespace Weir.Lab.Workers;

/// <summary>
/// The one loop that measures: each arm is set up and warmed up, and then each round measures a window of each, in an order that changes from round to round.
/// </summary>
/// <remarks>
/// Arms share a process, so one that leaves something behind (a grown thread pool, a large heap) may burden the others. The garbage of one is not collected
/// on the time of another.
/// </remarks>
internal static class RoundRunner
{
    /// <summary>Runs all rounds.</summary>
    /// <param name="arms">What is measured.</param>
    /// <param name="rounds">How many rounds there are.</param>
    /// <param name="cancellationToken">Ends it before the next window. It is no error.</param>
    public static async Task RunAsync(IReadOnlyList<RoundArm> arms, int rounds, CancellationToken cancellationToken)
    {
        int begun = 0;
        try
        {
            foreach (RoundArm arm in arms)
            {
                begun++;
                if (!await arm.PrepareAsync(cancellationToken).ConfigureAwait(false))
                {
                    return;
                }
            }

            await RoundsAsync(arms, rounds, cancellationToken).ConfigureAwait(false);
            foreach (RoundArm arm in arms)
            {
                await arm.AfterRoundsAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        finally
        {
            await CleanUpAsync(arms, 0, begun).ConfigureAwait(false);
        }
    }

    // Those that were set up, all of them, whatever one of them throws.
    private static async Task CleanUpAsync(IReadOnlyList<RoundArm> arms, int first, int end)
    {
        if (first < end)
        {
            try
            {
                await arms[first].CleanUpAsync().ConfigureAwait(false);
            }
            finally
            {
                await CleanUpAsync(arms, first + 1, end).ConfigureAwait(false);
            }
        }
    }

    private static async Task RoundsAsync(IReadOnlyList<RoundArm> arms, int rounds, CancellationToken cancellationToken)
    {
        for (int round = 1; round <= rounds; round++)
        {
            foreach (int index in TrialOrder.Of(arms.Count, round - 1))
            {
                RoundEnd end = RoundEnd.Again;
                while (end == RoundEnd.Again)
                {
                    if (cancellationToken.IsCancellationRequested)
                    {
                        return;
                    }

                    end = await arms[index].RoundAsync(round, cancellationToken).ConfigureAwait(false);
                }

                if (end == RoundEnd.Over)
                {
                    return;
                }
            }
        }
    }
}

namespace Weir.Lab.Workers;

/// <summary>
/// The one loop that takes turns, whatever an arm is: workers, passes, samples, processes, programs or servers. Arms with windows are set up and warmed up, and
/// then each round measures a window of each, in an order that changes from round to round.
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

            await TakeTurnsAsync(
                arms.Count, round => round < rounds, (arm, round) => arms[arm].RoundAsync(round + 1, cancellationToken), cancellationToken)
                .ConfigureAwait(false);
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

    /// <summary>Takes turns: each arm has one in each round.</summary>
    /// <param name="arms">How many arms there are.</param>
    /// <param name="begins">Whether a round begins, by its number from 0. It is asked before each.</param>
    /// <param name="turn">Takes the turn of an arm in a round, both from 0.</param>
    /// <param name="cancellationToken">Ends it before the next turn. It is no error.</param>
    /// <param name="after">What follows on a round, and whether another one may begin; <see langword="null"/> for nothing.</param>
    /// <param name="order">The arms in their order in a round, which may have several turns; <see langword="null"/> for <see cref="TrialOrder"/>.</param>
    /// <returns>Whether all rounds were made.</returns>
    public static async Task<bool> TakeTurnsAsync(
        int arms,
        Func<int, bool> begins,
        Func<int, int, Task<RoundEnd>> turn,
        CancellationToken cancellationToken,
        Func<int, Task<bool>>? after = null,
        Func<int, IEnumerable<int>>? order = null)
    {
        for (int round = 0; begins(round); round++)
        {
            foreach (int arm in order?.Invoke(round) ?? TrialOrder.Of(arms, round))
            {
                RoundEnd end = RoundEnd.Again;
                while (end == RoundEnd.Again)
                {
                    if (cancellationToken.IsCancellationRequested)
                    {
                        return false;
                    }

                    end = await turn(arm, round).ConfigureAwait(false);
                }

                if (end == RoundEnd.Over)
                {
                    return false;
                }
            }

            if (after is not null && !await after(round).ConfigureAwait(false))
            {
                return false;
            }
        }

        return true;
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
}

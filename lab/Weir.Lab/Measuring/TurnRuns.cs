using Weir.Lab.Statistics;
using Weir.Lab.Workers;

namespace Weir.Lab.Measuring;

/// <summary>Several runs in this process that take turns, so that what the machine does meanwhile meets all of them alike.</summary>
internal static class TurnRuns
{
    /// <summary>Measures.</summary>
    /// <param name="arms">What is measured, and how.</param>
    /// <param name="rounds">How many rounds each makes.</param>
    /// <param name="waiting">Hears what is waited for.</param>
    /// <param name="stop">Ends it with the rounds that there are.</param>
    /// <returns>The runs, and the number of each of their rounds among all, from 1.</returns>
    public static async Task<IReadOnlyList<(WorkerRun Run, IReadOnlyList<int>? Order)>> MeasureAsync(
        IReadOnlyList<(IWorkload Workload, WorkerRunSpec Spec)> arms, int rounds, Action<string>? waiting, CancellationToken stop)
    {
        List<TurnRun> runs = [];
        List<int>[] order = [.. arms.Select(static _ => new List<int>())];
        try
        {
            // One after the other: a warm-up beside another one would see its work.
            foreach ((IWorkload workload, WorkerRunSpec spec) in arms)
            {
                runs.Add(new TurnRun(workload, spec, waiting, stop));
                if (!await runs[^1].Ready.ConfigureAwait(false))
                {
                    break;
                }
            }

            await TakeTurnsAsync(runs, order, runs.Count == arms.Count ? rounds : 0).ConfigureAwait(false);
        }
        finally
        {
            // All of them, whatever one of them throws: none may go on behind the caller's back.
            await Task.WhenAll(runs.Select(static Task (r) => r.EndAsync())).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        List<(WorkerRun, IReadOnlyList<int>?)> ended = [];
        for (int i = 0; i < runs.Count; i++)
        {
            ended.Add((await runs[i].EndAsync().ConfigureAwait(false), order[i]));
        }

        return ended;
    }

    private static async Task TakeTurnsAsync(List<TurnRun> runs, List<int>[] order, int rounds)
    {
        int made = 0;
        for (int turn = 0; turn < rounds; turn++)
        {
            foreach (int arm in TrialOrder.Of(runs.Count, turn))
            {
                if (await runs[arm].NextAsync().ConfigureAwait(false) is null)
                {
                    return;
                }

                order[arm].Add(++made);
            }
        }
    }
}

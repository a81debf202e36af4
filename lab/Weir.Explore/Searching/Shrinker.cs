using Weir.Explore.Scheduling;

namespace Weir.Explore.Searching;

/// <summary>Looks for a schedule that fails in the same way with fewer preemptions: one after the other is left out.</summary>
internal sealed class Shrinker(ScheduleRunner runner, Func<bool> isOver)
{
    private const int MostRuns = 2000;

    public Execution Shrink(Execution failed)
    {
        int runs = 0;
        bool improved = true;
        while (improved)
        {
            improved = false;
            byte[] choices = ScheduleText.Choices(failed.Decisions);
            for (int i = choices.Length - 1; i >= 0; i--)
            {
                if (choices[i] == 0)
                {
                    continue;
                }

                if (runs++ >= MostRuns || isOver())
                {
                    return failed;
                }

                // What follows is tried as it was, and then as whoever runs goes on.
                byte[] same = [.. choices];
                same[i] = 0;
                if (Try(same, failed) is { } better || Try(choices.AsSpan(0, i).ToArray(), failed) is { } shorter && (better = shorter) is not null)
                {
                    failed = better;
                    improved = true;
                    break;
                }
            }
        }

        return failed;
    }

    private Execution? Try(byte[] choices, Execution best)
    {
        Execution execution = runner.Run(new PrefixChooser(choices));
        return execution.Failure?.Kind == best.Failure!.Kind && Cost(execution).CompareTo(Cost(best)) < 0 ? execution : null;
    }

    private static (int Preemptions, int Others) Cost(Execution execution) =>
        (execution.Decisions.Count(static d => d.IsPreemption), execution.Decisions.Count(static d => d.Chosen != 0));
}

namespace Weir.Explore.Searching;

/// <summary>
/// Looks for a schedule that fails with fewer preemptions: first by leaving out one choice after the other, then by a search of all schedules with fewer.
/// </summary>
internal sealed class Shrinker(ScheduleRunner runner)
{
    private const int MostRuns = 5000;

    public Execution Shrink(Execution failed)
    {
        long last = runner.Schedules + MostRuns;
        while (runner.Schedules < last && Better(failed) is { } better)
        {
            failed = better;
        }

        last = runner.Schedules + MostRuns;
        return failed.Preemptions == 0 ? failed : new BoundedSearch(runner, failed.Preemptions - 1, () => runner.Schedules >= last).Find() ?? failed;
    }

    private static int Choices(Execution execution) => execution.Decisions.Count(static d => d.Chosen != 0);

    private Execution? Better(Execution failed)
    {
        byte[] choices = ScheduleText.Choices(failed.Decisions);
        for (int i = choices.Length - 1; i >= 0; i--)
        {
            if (choices[i] == 0)
            {
                continue;
            }

            // What follows is tried as it was, and then as whoever runs goes on.
            byte[] same = [.. choices];
            same[i] = 0;
            if ((Try(same, failed) ?? Try(choices.AsSpan(0, i).ToArray(), failed)) is { } better)
            {
                return better;
            }
        }

        return null;
    }

    private Execution? Try(byte[] choices, Execution best)
    {
        Execution execution = runner.Run(() => new PrefixChooser(choices));
        return execution.Failure?.Kind == best.Failure!.Kind && (execution.Preemptions, Choices(execution)).CompareTo((best.Preemptions, Choices(best))) < 0
            ? execution
            : null;
    }
}

namespace Weir.Explore.Searching;

/// <summary>
/// Every schedule, those with the fewest preemptions first. A schedule is run from the choices of another one up to some point, with another choice there. What
/// that leads to with one preemption more is run later.
/// </summary>
internal sealed class BoundedSearch(ScheduleRunner runner, int? maxPreemptions, Func<bool> isOver, bool isReduced = false)
{
    private readonly PriorityQueue<Branch, (int Preemptions, long Order)> _branches = new();
    private readonly SeenStates? _seen = isReduced ? new SeenStates() : null;
    private readonly bool _triesLocks = Statics.TriesLocks;
    private long _pushed;

    /// <summary>Null if no schedule fails. What has been searched wholly is in <see cref="ExhaustedPreemptions"/>.</summary>
    public Execution? Find()
    {
        _branches.Clear();
        Push(0, new Branch([], -1, 0));
        int preemptions = 0;
        while (_branches.TryDequeue(out Branch branch, out (int Preemptions, long Order) next))
        {
            preemptions = next.Preemptions;
            ExhaustedPreemptions = preemptions > 0 ? preemptions - 1 : null;
            if (isOver())
            {
                return null;
            }

            byte[] prefix = branch.Prefix();
            Execution execution = runner.Replay(prefix, _seen);
            if (execution.Failure is not null)
            {
                return execution;
            }

            if (_triesLocks != Statics.TriesLocks && runner.Schedules > 1)
            {
                // Those before had no points where a lock is held.
                throw new DivergedException();
            }

            if (execution.HasReadIds && _seen is { IdsMatter: false })
            {
                _seen.TellIdsApart();
                runner.BeginAgain();
                ExhaustedPreemptions = null;
                return Find();
            }

            Expand(execution, prefix.Length);
        }

        IsExhausted = true;
        ExhaustedPreemptions = maxPreemptions ?? preemptions;
        return null;
    }

    public int? ExhaustedPreemptions { get; private set; }

    public bool IsExhausted { get; private set; }

    private void Expand(Execution execution, int from)
    {
        byte[] choices = ScheduleText.Choices(execution.Decisions);
        int preemptions = 0;
        for (int i = 0; i < Math.Min(choices.Length, execution.SeenFrom); i++)
        {
            Decision decision = execution.Decisions[i];
            if (i >= from)
            {
                int level = preemptions + (decision.CouldContinue ? 1 : 0);
                for (int other = 1; other < decision.Count && !(level > maxPreemptions); other++)
                {
                    Push(level, new Branch(choices, i, (byte)other));
                }
            }

            preemptions += decision.IsPreemption ? 1 : 0;
        }
    }

    /// <summary>Of those with as many preemptions, the last one comes first.</summary>
    private void Push(int preemptions, Branch branch) => _branches.Enqueue(branch, (preemptions, --_pushed));

    /// <summary>The choices of a schedule before a point, and another choice there.</summary>
    private readonly record struct Branch(byte[] Choices, int At, byte Other)
    {
        public byte[] Prefix() => At < 0 ? [] : [.. Choices.AsSpan(0, At), Other];
    }
}

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

            // What follows is tried as it was, and then with whoever runs continuing.
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

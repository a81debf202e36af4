namespace Weir.Cli.Commands.Load.Arms;

/// <summary>Adds up the outcomes of one pass of a runtime.</summary>
internal struct OutcomeTally(LoadWork work)
{
    private long _count;
    private long _sum;
    private long _failed;
    private long _timedOut;
    private string? _trouble;

    public readonly PassResult Result => new(_count, _sum) { Failed = _failed, TimedOut = _timedOut, Trouble = _trouble };

    /// <summary>Adds the outcomes of a batch.</summary>
    public void Add(ItemOutcome<int, int>[] outcomes, int first)
    {
        long sum = 0;
        for (int i = 0; i < outcomes.Length; i++)
        {
            if (outcomes[i].IsSuccess)
            {
                sum += ItemChecksum.Part(outcomes[i].ValueOrDefault, first + i);
            }
            else
            {
                AddOther(outcomes[i], first + i);
            }
        }

        _sum += sum;
        _count += outcomes.Length;
    }

    public void Add(in ItemOutcome<int, int> outcome, int item)
    {
        _count++;
        if (outcome.IsSuccess)
        {
            _sum += ItemChecksum.Part(outcome.ValueOrDefault, item);
        }
        else
        {
            AddOther(outcome, item);
        }
    }

    private void AddOther(in ItemOutcome<int, int> outcome, int item)
    {
        switch (outcome)
        {
            case { Status: ItemStatus.Failed, Error: IntendedFailureException }:
                _failed++;
                _sum += ItemChecksum.Part(LoadWork.Failed, item);
                break;

            // It is not known in advance which items time out: the checksum covers the others.
            case { Status: ItemStatus.TimedOut }:
                _timedOut++;
                _sum += ItemChecksum.Part(work.Expect(item), item);
                break;

            default:
                _count--;
                _trouble ??= FormattableString.Invariant($"item {item} ended as {outcome.Status}")
                    + (outcome.Error is { } error ? $" with {error.GetType().Name}: {error.Message.TrimEnd('.')}" : "");
                break;
        }
    }
}

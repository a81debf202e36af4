namespace Weir.Lab.Workers;

/// <summary>Measures what the loop adds to short operations, again and again in the course of a run, so that it meets the same machine.</summary>
/// <param name="measure">Nanoseconds for an operation that does nothing; 0 when it was stopped.</param>
/// <param name="subtracts">Whether the rate is to be without it, where it can be told.</param>
internal sealed class OverheadMeter(Func<CancellationToken, double> measure, bool subtracts)
{
    private const int FirstWindows = 7;
    private static readonly TimeSpan Length = TimeSpan.FromMilliseconds(3);

    private readonly List<double> _nanoseconds = [];
    private bool? _canSubtract;

    /// <summary>
    /// A meter, with its first windows measured; <see langword="null"/> where there is nothing to measure: operations that are so long that each is timed,
    /// several groups, or a rate, with which the loop waits.
    /// </summary>
    /// <param name="spec">How the run is done.</param>
    /// <param name="operation">One of its operations.</param>
    /// <param name="batch">How many of them go between two looks at the clock.</param>
    /// <param name="cancellationToken">Stops it.</param>
    public static OverheadMeter? Start(WorkerRunSpec spec, Operation operation, int batch, CancellationToken cancellationToken)
    {
        if (batch == 1 || spec.Groups.Count > 1 || spec.RatePerSecond is not null)
        {
            return null;
        }

        string group = spec.Groups[0].Name;
        WorkerRunSpec alone = spec with { Groups = [new WorkerGroup(group, 1)] };
        Operation empty = operation.Empty();
        Workload nothing = new("nothing", _ => empty);
        WindowPlan plan = new(0, Length, new Dictionary<string, int> { [group] = batch }) { HasTimeline = false };
        OverheadMeter meter =
            new(stop => NanosecondsOf(WindowRunner.Run(alone, nothing, plan, stop)), spec is { SubtractsOverhead: true, Workers: 1 } && !operation.IsAsync);
        meter.Take(FirstWindows, cancellationToken);
        return meter._nanoseconds.Count > 0 ? meter : null;
    }

    /// <summary>Measures some times more.</summary>
    public void Take(int windows, CancellationToken cancellationToken)
    {
        for (int i = 0; i < windows && !cancellationToken.IsCancellationRequested; i++)
        {
            if (measure(cancellationToken) is > 0 and double nanoseconds)
            {
                _nanoseconds.Add(nanoseconds);
            }
        }
    }

    /// <summary>Measures once more after a round, if anything depends on it.</summary>
    /// <returns>How many windows there are now.</returns>
    public int TakeAfterRound(CancellationToken cancellationToken)
    {
        Take(subtracts ? 1 : 0, cancellationToken);
        return _nanoseconds.Count;
    }

    /// <summary>The overhead of a round's operations, and whether it is to be subtracted, which the first round decides for all that can.</summary>
    public LoopOverhead Of(double rate)
    {
        LoopOverhead overhead = LoopOverhead.Of(_nanoseconds);
        bool can = overhead.CanBeSubtractedFrom(rate);
        _canSubtract ??= rate > 0 ? can : null;
        return overhead with { IsSubtracted = subtracts && can && _canSubtract == true };
    }

    private static double NanosecondsOf(WindowOutcome outcome) => outcome is { Rate: > 0, IsPartial: false, IsStuck: false } ? 1e9 / outcome.Rate : 0;
}

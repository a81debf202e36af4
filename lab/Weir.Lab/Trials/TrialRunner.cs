using Weir.Lab.Resources;

namespace Weir.Lab.Trials;

/// <summary>
/// Measures arms against each other: each is warmed up, then every round measures one window of each, in an order that changes from round
/// to round. All results are verified.
/// </summary>
/// <remarks>
/// Arms share a process, so an arm that leaves something behind (a grown thread pool, a large heap) may burden the others. The heap is
/// collected before each window, so that no arm pays for the garbage of another.
/// </remarks>
public sealed class TrialRunner
{
    // The clock is read once per group of passes: a group of tiny passes is made this much shorter than a window.
    private const int GroupsPerWindow = 64;

    private readonly TrialOptions _options;
    private readonly ITrialObserver? _observer;

    /// <summary>Creates a runner.</summary>
    /// <param name="options">How the run is done; <see langword="null"/> for the defaults.</param>
    /// <param name="observer">Hears how the run goes on.</param>
    public TrialRunner(TrialOptions? options = null, ITrialObserver? observer = null)
    {
        _options = options ?? new TrialOptions();
        _options.Validate();
        _observer = observer;
    }

    /// <summary>Runs all trials.</summary>
    /// <param name="arms">The arms. At least one, with different names.</param>
    /// <param name="cancellationToken">Stops the run. It is not an error: the report has what was done so far, marked as partial.</param>
    /// <returns>What was measured.</returns>
    /// <exception cref="ArgumentException">There is no arm, or two have the same name.</exception>
    /// <exception cref="WrongResultException">An arm's count or checksum was wrong.</exception>
    public Task<TrialReport> RunAsync(IReadOnlyList<Arm> arms, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(arms);
        if (arms.Count == 0 || arms.Select(static a => a.Name).Distinct(StringComparer.Ordinal).Count() != arms.Count)
        {
            throw new ArgumentException("There must be at least one arm, and their names must differ.", nameof(arms));
        }

        return RunAllAsync(arms, cancellationToken);
    }

    private async Task<TrialReport> RunAllAsync(IReadOnlyList<Arm> arms, CancellationToken cancellationToken)
    {
        List<Window>[] windows = [.. arms.Select(static _ => new List<Window>())];
        int steps = arms.Count * (_options.Trials + 1);
        int step = 0;
        for (int round = 0; round <= _options.Trials; round++)
        {
            foreach (int index in TrialOrder.Of(arms.Count, Math.Max(0, round - 1)))
            {
                if (cancellationToken.IsCancellationRequested)
                {
                    return Report(arms, windows);
                }

                TrialStep now = new(arms[index], round, _options.Trials, step++, steps);
                _observer?.Started(now);
                Window? window = null;
                if (round == 0)
                {
                    await WarmUp.RunAsync(arms[index], _options, cancellationToken).ConfigureAwait(false);
                }
                else
                {
                    // Each window starts on a thread of the pool, whatever thread the arm before it ended on.
                    window = await Task.Run(() => MeasureAsync(arms[index], round, cancellationToken), CancellationToken.None).ConfigureAwait(false);
                    if (window.Items > 0)
                    {
                        windows[index].Add(window);
                    }
                }

                _observer?.Ended(now, window);
            }
        }

        return Report(arms, windows);
    }

    private TrialReport Report(IReadOnlyList<Arm> arms, List<Window>[] windows)
    {
        ArmResult[] results =
        [
            .. arms.Select((arm, i) => new ArmResult(arm.Name, arm.Expected.Count, windows[i])
            {
                IsPartial = windows[i].Count < _options.Trials || windows[i].Any(static w => w.IsPartial),
            }),
        ];
        return new TrialReport(results, results.Any(static r => r.IsPartial));
    }

    private async Task<Window> MeasureAsync(Arm arm, int round, CancellationToken cancellationToken)
    {
        Heap.Collect();

        Tally tally = new();
        TimeProvider time = _options.TimeProvider;
        long doneBefore = arm.ItemsDone();
        ResourceSample before = ResourceSample.Take();
        long start = time.GetTimestamp();
        TimeSpan elapsed = TimeSpan.Zero;
        int group = 1;
        bool stopped = false;
        try
        {
            do
            {
                await RunGroupAsync(arm, group, tally, cancellationToken).ConfigureAwait(false);
                TimeSpan now = time.GetElapsedTime(start);
                if ((now - elapsed) * GroupsPerWindow * 2 < _options.MinimumWindow)
                {
                    group *= 2;
                }

                elapsed = now;
            }
            while (elapsed < _options.MinimumWindow && !cancellationToken.IsCancellationRequested);
            stopped = elapsed < _options.MinimumWindow;
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            elapsed = time.GetElapsedTime(start);
            stopped = true;
        }

        ResourceSample after = ResourceSample.Take();
        return new Window
        {
            Round = round,
            Passes = tally.Passes,
            Items = stopped ? Math.Max(tally.Items, arm.ItemsDone() - doneBefore) : tally.Items,
            Failed = tally.Failed,
            TimedOut = tally.TimedOut,
            Elapsed = elapsed,
            Resources = ResourceUse.Between(before, after),
            IsPartial = stopped,
        };
    }

    // Apart from the loop above, so that it is called often enough to be compiled for good.
    private static async ValueTask RunGroupAsync(Arm arm, int passes, Tally tally, CancellationToken cancellationToken)
    {
        for (int i = 0; i < passes; i++)
        {
            PassResult result = await arm.Pass(cancellationToken).ConfigureAwait(false);
            WrongResultException.ThrowIfWrong(arm, result);
            tally.Add(result);
        }
    }

    private sealed class Tally
    {
        public long Passes { get; private set; }

        public long Items { get; private set; }

        public long Failed { get; private set; }

        public long TimedOut { get; private set; }

        public void Add(in PassResult result)
        {
            Passes++;
            Items += result.Count;
            Failed += result.Failed;
            TimedOut += result.TimedOut;
        }
    }
}

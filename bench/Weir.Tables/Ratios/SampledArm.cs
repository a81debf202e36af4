namespace Weir.Tables.Ratios;

/// <summary>An arm of a case in a run: one worker whose operation is a run of the arm, in windows of as many runs as take some milliseconds.</summary>
/// <remarks>
/// A window consists of a fixed number of whole runs (<see cref="WholeOperations.Each"/>). Its worker is alone, so it reads clock and bytes itself, and the bytes
/// of a run are exact (<see cref="SoloReading"/>). A run that never completes is abandoned when the suite's patience is over
/// (<see cref="WindowPlan.Patience"/>), and the other arms continue.
/// </remarks>
internal sealed class SampledArm(Sampler sampler, Suite suite, Arm arm)
    : RoundArm(Spec, new Workload(arm.Name, _ => Operation.OfAsync(arm.RunAsync)))
{
    private const int FewestSamples = 3;
    private const int WarmRuns = 60;

    // How often to check whether the window was abandoned or stopped, instead of after each run.
    private const int BatchesOfSample = 64;

    private static readonly TimeSpan SampleTime = TimeSpan.FromMilliseconds(40);
    private static readonly TimeSpan ShortestWarmUp = TimeSpan.FromMilliseconds(300);
    private static readonly TimeSpan LongestWarmUp = TimeSpan.FromSeconds(1);

    // Newly compiled code keeps its speed for about half a second before it reaches the final one.
    private static readonly TimeSpan ShortestFirstWarmUp = TimeSpan.FromSeconds(1.2);
    private static readonly TimeSpan LongestFirstWarmUp = TimeSpan.FromSeconds(2.5);
    private static readonly TimeSpan BudgetPerArm = TimeSpan.FromSeconds(6);

    private static new readonly WorkerRunSpec Spec = new() { Workload = "runs", MeasuresLatency = false, FailsFast = true };

    private static int s_isCalledOften;

    private readonly List<Sample> _samples = [];
    private int _runs = 1;
    private int _share;
    private int _stuck;

    private bool IsGivenUp => _stuck >= Sampler.MostStuck;

    public ArmResult Result() => new(arm.Name, arm.IsBaseline, _samples) { Stuck = _stuck == 0 ? null : new StuckRuns(_stuck, suite.Patience, _share) };

    // Until the arm is fully compiled: enough runs, enough time, and no longer getting faster.
    public override async Task<bool> PrepareAsync(CancellationToken cancellationToken)
    {
        WarmUp warmUp = new()
        {
            LeastOperations = WarmRuns,
            Shortest = sampler.IsFirst ? ShortestFirstWarmUp : ShortestWarmUp,
            Longest = sampler.IsFirst ? LongestFirstWarmUp : LongestWarmUp,
            MostFaster = 0.1,
            MostSlower = 1,
        };
        if (Interlocked.Exchange(ref s_isCalledOften, 1) == 0)
        {
            await CallOftenAsync(async () => await WindowAsync(0, cancellationToken) is not null, cancellationToken);
        }

        TimeSpan run = LongestWarmUp;
        await warmUp.RunAsync(
            async () =>
            {
                int runs = _runs;
                if (await WindowAsync(0, cancellationToken) is not { } outcome)
                {
                    return null;
                }

                run = TimeSpan.FromTicks(Math.Max(1, outcome.Solo!.Elapsed.Ticks / runs));
                _runs = Math.Min(RunsOf(run), runs * 4);
                return outcome;
            },
            () => IsGivenUp,
            cancellationToken);
        _runs = RunsOf(run);
        _share = Math.Clamp((int)(BudgetPerArm / run), Math.Min(FewestSamples, sampler.Rounds), sampler.Rounds);
        return true;
    }

    public override async Task<RoundEnd> RoundAsync(int round, CancellationToken cancellationToken)
    {
        long hops = ThreadPool.CompletedWorkItemCount;
        if (!IsGivenUp && sampler.IsDue(round - 1, _share) && await WindowAsync(round, cancellationToken) is { Solo: { } solo })
        {
            hops = ThreadPool.CompletedWorkItemCount - hops;
            _samples.Add(new Sample(
                round - 1,
                solo.Elapsed.TotalNanoseconds / _runs,
                (double)solo.Resources.AllocatedBytes / _runs,
                solo.Cpu / solo.Elapsed,
                (double)hops / _runs));
        }

        return RoundEnd.Next;
    }

    private static int RunsOf(TimeSpan run) => Math.Max(1, (int)Math.Ceiling(SampleTime / run));

    // Nothing if it was abandoned.
    private async Task<WindowOutcome?> WindowAsync(int round, CancellationToken cancellationToken)
    {
        WindowPlan plan = WindowPlan.OfOne(round, Math.Max(1, _runs / BatchesOfSample), new WholeOperations { Each = _runs }) with
        {
            Patience = (suite.Patience, suite.Clock),
        };
        WindowOutcome outcome = await WindowAsync(plan, cancellationToken);
        if (!outcome.IsStuck)
        {
            return outcome;
        }

        _stuck++;
        sampler.ReportStuck(arm, suite.Patience);
        return null;
    }
}

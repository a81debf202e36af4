namespace Weir.Lab.Trials;

/// <summary>An arm in a run: one worker whose operation is a pass, which is checked before it counts. Its windows are of whole passes.</summary>
internal sealed class PassArm(TrialArm arm, TrialOptions options, TrialSteps steps) : RoundArm(Spec, new PassWorkload(arm))
{
    // Steady is: two windows in a row within 5 % of each other, after at least four. Code is compiled for good after 30 calls and a
    // pause of 100 ms, so fewer windows of a twentieth of a second say little.
    private const int WarmUpWindows = 20;
    private const int LeastWarmUps = 4;

    private static new readonly WorkerRunSpec Spec = new() { Workload = "pass", MeasuresLatency = false, FailsFast = true };

    private readonly List<RoundRecord> _rounds = [];

    public TrialArm Arm => arm;

    /// <summary>A round for each window, in their order.</summary>
    public IReadOnlyList<RoundRecord> Rounds => _rounds;

    private PassWorkload Passes => (PassWorkload)Workload;

    public override async Task<bool> PrepareAsync(CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
        {
            return false;
        }

        TrialStep step = steps.Start(arm, round: 0);
        if (arm.WarmUp is { } pass)
        {
            Workload unchecked_ = new("warm-up", worker => Operation.OfAsync(() => pass(worker.Stopping)));
            WarmUp warmUp = new()
            {
                LeastWindows = LeastWarmUps,
                Longest = options.LongestWarmUp,
                CompilerPatience = options.CompilerPatience,
                QuietWindows = 2,
                RestsForCompiler = options.CompilerPatience > TimeSpan.Zero,
                Clock = options.TimeProvider,
            };
            await warmUp.RunAsync(
                async () => await WindowAsync(PlanOf(0, options.LongestWarmUp / WarmUpWindows), cancellationToken, unchecked_).ConfigureAwait(false),
                static () => false,
                cancellationToken).ConfigureAwait(false);
        }

        steps.End(step, null);
        return true;
    }

    public override async Task<RoundEnd> RoundAsync(int round, CancellationToken cancellationToken)
    {
        TrialStep step = steps.Start(arm, round);
        long doneBefore = arm.ItemsDone();
        WindowOutcome outcome = await WindowAsync(PlanOf(round, options.MinimumWindow), cancellationToken).ConfigureAwait(false);
        RoundRecord record = Passes.RoundOf(step.Place, outcome, arm.ItemsDone() - doneBefore);
        if (record.Operations > 0 || record.Lost > 0)
        {
            _rounds.Add(record);
        }

        steps.End(step, record);
        return RoundEnd.Next;
    }

    private WindowPlan PlanOf(int round, TimeSpan length) =>
        WindowPlan.OfOne(round, 1, new WholeOperations { Until = length }) with { Clock = options.TimeProvider };
}

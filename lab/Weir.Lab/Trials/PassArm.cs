namespace Weir.Lab.Trials;

/// <summary>An arm in a run: one worker whose operation is a pass, which is checked before it counts. Its windows are of whole passes.</summary>
internal sealed class PassArm(TrialArm arm, TrialOptions options, TrialSteps steps) : RoundArm(Spec, new PassWorkload(arm))
{
    // Steady is: two windows in a row within 5 % of each other, after at least four. Code is compiled for good after 30 calls and a
    // pause of 100 ms, so fewer windows of a twentieth of a second say little.
    private const int WarmUpWindows = 20;
    private const int LeastWarmUps = 4;

    // What a whole window calls first, and what the warm-up left to a compiler that had no processor, is compiled in the first windows.
    private const int MostColdRounds = 3;

    private static new readonly WorkerRunSpec Spec = new() { Workload = "pass", MeasuresLatency = false, FailsFast = true };

    private readonly List<RoundRecord> _rounds = [];
    private int _coldRounds;

    public TrialArm Arm => arm;

    /// <summary>A round for each window, in their order.</summary>
    public IReadOnlyList<RoundRecord> Rounds => _rounds;

    /// <summary>Whether the compiler was at work for more of some rounds than goes unnoticed.</summary>
    public static bool AreCold(IReadOnlyList<RoundRecord> rounds) =>
        rounds.Sum(static r => r.CompilationSeconds ?? 0) > Spec.MostCompiling * rounds.Sum(static r => r.Seconds);

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
        RoundRecord record = await MeasureAsync(step, cancellationToken).ConfigureAwait(false);
        while (MayBeAgain(record) && AreCold([record]) && !cancellationToken.IsCancellationRequested)
        {
            _coldRounds++;
            await CompilerRest.WaitAsync(CompilerRest.Longest, cancellationToken).ConfigureAwait(false);
            record = await MeasureAsync(step, cancellationToken).ConfigureAwait(false);
        }

        if (record.Operations > 0 || record.Lost > 0)
        {
            _rounds.Add(record);
        }

        steps.End(step, record);
        return RoundEnd.Next;
    }

    private async Task<RoundRecord> MeasureAsync(TrialStep step, CancellationToken cancellationToken)
    {
        long doneBefore = arm.ItemsDone();
        WindowOutcome outcome = await WindowAsync(PlanOf(step.Round, options.MinimumWindow), cancellationToken).ConfigureAwait(false);
        return Passes.RoundOf(step.Place, outcome, arm.ItemsDone() - doneBefore);
    }

    // Who asked for no warm-up measures the first passes as they are, and no round counts for nothing in which items of a queue may be missing.
    private bool MayBeAgain(RoundRecord round) => arm.WarmUp is not null && options.CompilerPatience > TimeSpan.Zero && _coldRounds < MostColdRounds
        && round is { Partial: false, Lost: null };

    private WindowPlan PlanOf(int round, TimeSpan length) =>
        WindowPlan.OfOne(round, 1, new WholeOperations { Until = length }) with { Clock = options.TimeProvider };
}

namespace Weir.Tables.Ratios;

/// <summary>Measures the arms of a case interleaved, round by round, in one process.</summary>
/// <remarks>
/// Arms that are measured one after the other differ because the machine changes meanwhile. Interleaved, in an order that changes from round to round, they
/// share these changes. The runs are awaited on the pool, as an application awaits them, so that no run pays for the wake-up of a blocked thread.
/// </remarks>
/// <param name="rounds">How many rounds; arms that take seconds take part in fewer.</param>
/// <param name="stuck">Told at once of a run that was given up: the arm, and after what time.</param>
internal sealed class Sampler(int rounds, Action<Arm, TimeSpan>? stuck = null)
{
    /// <summary>How often an arm may hang before it is no longer run, so that the whole run ends.</summary>
    internal const int MostStuck = 5;

    /// <summary>Whether the case is the first one of its suite: its code has never run before.</summary>
    public bool IsFirst { get; init; }

    public int Rounds => rounds;

    public async Task<CaseResult> MeasureAsync(MeasuredCase measured)
    {
        SampledArm[] arms = [.. measured.Arms.Select(arm => new SampledArm(this, measured.Suite, arm))];
        await RoundRunner.RunAsync(arms, rounds, CancellationToken.None);
        return new CaseResult(measured.Name, measured.Suite.N, [.. arms.Select(static arm => arm.Result())], measured.Goals);
    }

    /// <summary>Spreads an arm's share of samples evenly over the rounds, the first one included.</summary>
    internal bool IsDue(int round, int share) => round == 0 || round * share / rounds != (round - 1) * share / rounds;

    internal void ReportStuck(Arm arm, TimeSpan patience) => stuck?.Invoke(arm, patience);
}

namespace Weir.Lab.Trials;

/// <summary>
/// Measures arms against each other: each is warmed up, then every round measures one window of each, in an order that changes from round
/// to round. All results are verified.
/// </summary>
/// <remarks>
/// Arms share a process, so an arm that leaves something behind (a grown thread pool, a large heap) may burden the others. The heap is
/// collected before each window, so that no arm pays for the garbage of another.
/// </remarks>
internal sealed class TrialRunner
{
    private readonly TrialOptions _options;
    private readonly ITrialObserver? _observer;

    /// <summary>Creates a runner.</summary>
    /// <param name="options">How the run is done; <see langword="null"/> for the defaults.</param>
    /// <param name="observer">Receives the progress of the run.</param>
    public TrialRunner(TrialOptions? options = null, ITrialObserver? observer = null)
    {
        _options = options ?? new TrialOptions();
        _options.Validate();
        _observer = observer;
    }

    /// <summary>Runs all trials.</summary>
    /// <param name="arms">The arms. At least one, with different names.</param>
    /// <param name="cancellationToken">Stops the run. It is not an error: the report has what was done so far, marked as partial.</param>
    /// <exception cref="ArgumentException">There is no arm, or two have the same name.</exception>
    /// <exception cref="WrongResultException">An arm's count or checksum was wrong.</exception>
    public Task<TrialReport> RunAsync(IReadOnlyList<TrialArm> arms, CancellationToken cancellationToken = default)
    {
        if (arms.Count == 0 || arms.Select(static a => a.Name).Distinct(StringComparer.Ordinal).Count() != arms.Count)
        {
            throw new ArgumentException("There must be at least one arm, and their names must differ.", nameof(arms));
        }

        return RunAllAsync(arms, cancellationToken);
    }

    private async Task<TrialReport> RunAllAsync(IReadOnlyList<TrialArm> arms, CancellationToken cancellationToken)
    {
        TrialSteps steps = new(_options.Trials, arms.Count * (_options.Trials + 1), _observer);
        PassArm[] passes = [.. arms.Select(arm => new PassArm(arm, _options, steps))];
        await RoundRunner.RunAsync(passes, _options.Trials, cancellationToken).ConfigureAwait(false);
        return new TrialReport(
            [.. passes.Select(static pass => new ArmRecord { Name = pass.Arm.Name, Workers = 1, Rounds = pass.Rounds })],
            passes.Any(pass => pass.Rounds.Count < _options.Trials || pass.Rounds.Any(static r => r.Partial)));
    }
}

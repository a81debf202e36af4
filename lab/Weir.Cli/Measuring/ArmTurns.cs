namespace Weir.Cli.Measuring;

/// <summary>Measures arms in turns. Each arm has several processes that stay alive, so that the rounds include the differences between processes.</summary>
/// <param name="host">Whether there are processes, and what stops them.</param>
/// <param name="rounds">How many rounds each arm makes.</param>
/// <param name="mostProcesses">How many processes each arm has at most.</param>
/// <param name="progress">Is told of each round.</param>
/// <param name="end">Returns, given the rates of each arm, why to end early; <see langword="null"/> to continue.</param>
/// <param name="within">The time limit, after at least two rounds of each arm; <see langword="null"/> for none.</param>
internal sealed class ArmTurns(
    WeirHost host, int rounds, int mostProcesses, RunProgress progress, Func<IReadOnlyList<IReadOnlyList<double>>, string?>? end = null,
    TimeSpan? within = null)
{
    /// <summary>The minimum number of rounds of each arm, and the minimum for a conclusion: one round may be chance.</summary>
    public const int LeastTurns = 2;

    /// <summary>What a round after the last showed under a profiler, by the number of the arm, from 0; without such rounds nothing.</summary>
    public IReadOnlyDictionary<int, ProfileRecord> Profiles { get; private set; } = new Dictionary<int, ProfileRecord>();

    /// <summary>Measures.</summary>
    /// <returns>The rounds of each, and what has to be known about them.</returns>
    /// <exception cref="InvalidOperationException">A process could not measure.</exception>
    public async Task<(IReadOnlyList<IReadOnlyList<RoundRecord>> Rounds, IReadOnlyList<Finding> Findings)> MeasureAsync(IReadOnlyList<WorkerOrder> orders)
    {
        long began = Stopwatch.GetTimestamp();
        int processes = Math.Min(rounds, mostProcesses);
        TurnSessions sessions = new(host, orders, processes, orders.Count * rounds, progress);
        await sessions.WarmUpAsync();
        Finding? ended = await TakeTurnsAsync(sessions, orders.Count, processes, began);
        (IReadOnlyList<IReadOnlyList<RoundRecord>> measured, IReadOnlyList<Finding> findings) = await sessions.EndAsync();
        Profiles = sessions.Profiles();
        return (measured, ended is null ? findings : [ended, .. findings]);
    }

    // Why it has ended early, if it has.
    private async Task<Finding?> TakeTurnsAsync(TurnSessions sessions, int arms, int processes, long began)
    {
        Finding? ended = null;
        TimeSpan longest = TimeSpan.Zero;
        long from = 0;
        List<double>[] rates = [.. Enumerable.Range(0, arms).Select(static _ => new List<double>())];
        await RoundRunner.TakeTurnsAsync(arms, Begins, TurnAsync, CancellationToken.None);
        return ended;

        bool Begins(int turn)
        {
            long now = Stopwatch.GetTimestamp();
            longest = turn == 0 ? longest : TimeSpan.FromTicks(Math.Max(longest.Ticks, Stopwatch.GetElapsedTime(from, now).Ticks));
            from = now;
            ended = turn == 0 || turn >= rounds ? null
                : end?.Invoke(rates) is { } why ? new Finding(FindingLevel.Doubt, why, FindingKind.Scaling)
                : turn >= LeastTurns && Stopwatch.GetElapsedTime(began, now) + longest > within ? new Finding(
                    FindingLevel.Note, $"The run ended after {turn} of {rounds} rounds each, because its time was up; --within gives it more.")
                : null;
            return turn < rounds && ended is null;
        }

        async Task<RoundEnd> TurnAsync(int arm, int turn)
        {
            if (await sessions.RoundAsync(arm, turn % processes, turn) is not { Rate: { } rate })
            {
                return RoundEnd.Over;
            }

            rates[arm].Add(rate);
            return RoundEnd.Next;
        }
    }
}

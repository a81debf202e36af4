namespace Weir.Cli.Processes;

/// <summary>Reports the progress of the rounds of a measuring process, and lets the process wait for its turn.</summary>
/// <param name="report">Gets each report.</param>
/// <param name="mostCompiling">The share of a round in which the compiler may be at work. Above it, the round does not count.</param>
/// <param name="turns">Where it waits before each round; <see langword="null"/> when it takes no turns.</param>
internal sealed class RoundReporter(Action<MeasureAnswer> report, double mostCompiling, TurnSignal? turns) : IRunObserver
{
    private int? _own;

    public int? Batch => turns?.Batch;

    // Once in advance, so that the first use is not in the first round.
    public void WarmingUp() => report(new MeasureAnswer(Rate: 0));

    public void WarmedUp(int? batch) => _own = batch;

    public ValueTask<bool> MayStartAsync(int round, CancellationToken cancellationToken)
    {
        if (turns is null)
        {
            return new ValueTask<bool>(true);
        }

        if (round == 1)
        {
            report(new MeasureAnswer(IsReady: true, Batch: _own));
        }

        return turns.WaitAsync(cancellationToken);
    }

    public void RoundEnded(WorkerRound round, int rounds) => report(new MeasureAnswer(
        Rate: round.Rate, Room: round.Resources.Room, IsDisturbed: round.IsPartial || round.Troubles.Count > 0 || round.CompilingShare > mostCompiling));

    public void Waiting(string what) => report(new MeasureAnswer(Waiting: what));
}

namespace Weir.Cli.Commands.Compare;

/// <summary>How two workloads are measured in turns.</summary>
/// <param name="Processes">The most processes of each side. Each takes turns with a process of the other side.</param>
/// <param name="Rounds">The maximum number of rounds of each side. An odd number is rounded up.</param>
/// <param name="Within">The time limit, from the start, whatever the results are.</param>
internal sealed record TurnPlan(int Processes, int Rounds, TimeSpan Within)
{
    /// <summary>How many pairs of processes there are: each makes two rounds of each side in a turn.</summary>
    public int Pairs => Math.Clamp(PairTurns, 1, Processes);

    /// <summary>How many turns all pairs together make at most.</summary>
    public int PairTurns => (Rounds + 1) / 2;

    /// <summary>How many turns a pair makes at most.</summary>
    public int Turns => (PairTurns + Pairs - 1) / Pairs;

    /// <summary>How many rounds both sides together make at most.</summary>
    public int AllRounds => 4 * PairTurns;
}

namespace Weir.Cli.Commands.Compare;

/// <summary>How two workloads are measured in turns.</summary>
/// <param name="Processes">How many processes each side has at most. Each of the one side takes turns with one of the other.</param>
/// <param name="Rounds">How many rounds each side makes at most; of an odd number one more.</param>
/// <param name="Within">When it ends whatever has come out, counted from the start.</param>
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

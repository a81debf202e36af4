using static System.FormattableString;

namespace Weir.Lab.Suites.Figures;

/// <summary>Runs of an arm that were abandoned.</summary>
/// <param name="Count">How many, the warm-up's included.</param>
/// <param name="Patience">After what time.</param>
/// <param name="Rounds">How many rounds the arm was to take part in.</param>
internal sealed record StuckRuns(int Count, TimeSpan Patience, int Rounds)
{
    /// <summary>What the page says of it.</summary>
    /// <param name="arm">The arm's name.</param>
    /// <param name="rounds">How many rounds it has taken part in.</param>
    public string Sentence(string arm, int rounds) =>
        Invariant($"{arm} did not complete in {Patience.TotalSeconds:0} s, {(Count == 1 ? "once" : Invariant($"{Count} times"))}: left out; rounds {rounds} ")
            + Invariant($"of {Rounds}");
}

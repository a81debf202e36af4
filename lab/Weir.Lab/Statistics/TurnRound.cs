namespace Weir.Lab.Statistics;

/// <summary>A round of a comparison in which pairs of processes take turns.</summary>
/// <param name="Pair">The pair of processes, one of the baseline and one of the candidate, that made it.</param>
/// <param name="Turn">The turn of the pair: in each, both sides make as many rounds, there and back.</param>
/// <param name="IsCandidate">Whether it is one of the candidate.</param>
/// <param name="Rate">Operations per second. More than zero.</param>
/// <param name="Room">The share of the machine's processor time that others did not take, from 0 to 1; <see langword="null"/> where it is not known.</param>
internal readonly record struct TurnRound(int Pair, int Turn, bool IsCandidate, double Rate, double? Room = null);

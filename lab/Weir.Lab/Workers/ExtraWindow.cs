namespace Weir.Lab.Workers;

/// <summary>Runs a window like those of the rounds, which counts in no figure of the run.</summary>
/// <param name="least">How long it is at least; it is never shorter than a round.</param>
/// <returns>How long it was, its rate, and what went wrong in it.</returns>
internal delegate Task<(double Seconds, double Rate, IReadOnlyList<string> Troubles)> ExtraWindow(TimeSpan least);

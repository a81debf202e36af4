namespace Weir.Lab.Statistics;

/// <summary>
/// How sure each look at a comparison must be that ends as soon as it is decided. Looking several times would claim too much if each look took the whole of
/// alpha; here the looks share it.
/// </summary>
/// <remarks>
/// By the inequality of Bonferroni the looks together are wrong no more often than the sum of their shares, however they depend on each other: the looks at
/// thirds of the time get a fifth, three tenths and the half of alpha. The bounds are wide at first and hardly wider than without looks at the end, as those
/// of Haybittle and Peto are; the intervals are repeated confidence intervals (C. Jennison and B. W. Turnbull, <i>Group Sequential Methods with Applications
/// to Clinical Trials</i>, 2000, chapters 2 and 9).
/// </remarks>
internal sealed class SequentialLooks
{
    private static readonly double[] Shares = [0.2, 0.3, 0.5];
    private int _next;
    private double _left = 1;

    /// <summary>Whether it is time to look.</summary>
    /// <param name="progress">How much of what is to be measured at most has been measured, from 0 to 1. It must not depend on what came out.</param>
    /// <returns>Whether the next look is due.</returns>
    public bool IsDue(double progress) => _next < Shares.Length && progress >= (_next + 1.0) / Shares.Length - 1e-9;

    /// <summary>Takes the next look.</summary>
    /// <param name="isLast">Whether it ends here, so that what earlier looks have left is used up.</param>
    /// <returns>The share of alpha that the look has.</returns>
    public double Take(bool isLast)
    {
        double share = isLast || _next == Shares.Length - 1 ? _left : Math.Min(_left, Shares[_next]);
        _next++;
        _left = Math.Max(0, _left - share);
        return share;
    }
}

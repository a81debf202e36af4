namespace Weir.Lab.Statistics;

/// <summary>Holm's correction: of many comparisons some look significant by chance, unless each has to be the more so.</summary>
internal static class Holm
{
    /// <summary>Corrects the probabilities of the comparisons of one run.</summary>
    /// <param name="probabilities">The probabilities, from 0 to 1.</param>
    /// <returns>The corrected ones in the same order. A comparison is significant when its corrected probability is below alpha.</returns>
    public static double[] Adjust(IReadOnlyList<double> probabilities)
    {
        double[] adjusted = new double[probabilities.Count];
        double last = 0;
        int rank = 0;
        foreach (int i in Enumerable.Range(0, adjusted.Length).OrderBy(i => probabilities[i]))
        {
            last = Math.Max(last, Math.Min(1, (adjusted.Length - rank++) * probabilities[i]));
            adjusted[i] = last;
        }

        return adjusted;
    }
}

namespace Weir.Lab.Statistics;

/// <summary>The standard normal distribution.</summary>
internal static class Normal
{
    public static double Cdf(double z) => Perfolizer.Mathematics.Distributions.ContinuousDistributions.NormalDistribution.Standard.Cdf(z);
}

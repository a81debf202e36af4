namespace Weir.Lab.Tests;

/// <summary>Seeded random measurements.</summary>
internal static class Noise
{
    public static double Normal(Random random) =>
        Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble());

    public static double[] Rates(Random random, int count, double mean, double variation) =>
        [.. Enumerable.Range(0, count).Select(_ => mean * Math.Exp(variation * Normal(random)))];
}

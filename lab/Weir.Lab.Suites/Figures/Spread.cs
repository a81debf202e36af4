namespace Weir.Lab.Suites.Figures;

/// <summary>The middle and the ends of some values. Means would let one disturbed round speak for all.</summary>
internal readonly record struct Spread(double Median, double Low, double High)
{
    public static Spread Of(IEnumerable<double> values)
    {
        double[] sorted = [.. values.Order()];
        if (sorted.Length == 0)
        {
            return new Spread(double.NaN, double.NaN, double.NaN);
        }

        int middle = sorted.Length / 2;
        double median = sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        return new Spread(median, sorted[0], sorted[^1]);
    }
}

using System.Globalization;

namespace CheckedBaseline;

/// <summary>Code that must not become slower. It references nothing of Weir.</summary>
public static class Prices
{
    private static readonly string[] Lines = [.. Enumerable.Range(0, 100).Select(n => string.Create(CultureInfo.InvariantCulture, $"item {n};{n / 4m}"))];

    /// <summary>The sum of a hundred lines. A method without parameters can be measured as it is.</summary>
    public static decimal Sum()
    {
        decimal sum = 0;
        foreach (string line in Lines)
        {
            sum += decimal.Parse(line.AsSpan(line.IndexOf(';') + 1), CultureInfo.InvariantCulture);
        }

        return sum;
    }
}

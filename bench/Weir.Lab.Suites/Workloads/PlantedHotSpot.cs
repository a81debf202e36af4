using System.Runtime.CompilerServices;

namespace Weir.Lab.Suites;

/// <summary>A method that spends all its time in another one: for the check of the shares of a profile.</summary>
public static class PlantedHotSpot
{
    /// <summary>The method with the time.</summary>
    public const string HotMethod = nameof(Hot);

    /// <summary>Computes for about 0.1 ms.</summary>
    /// <returns>What it came to.</returns>
    public static int Computes() => Hot(7);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Hot(int number)
    {
        for (int i = 0; i < 100_000; i++)
        {
            number = (number * 31) + i;
        }

        return number;
    }
}

using Weir.Lab.Trials;

namespace Weir.Lab.Workloads;

/// <summary>
/// The checksum of a pass: the sum of all results, each times an odd number of its own, so that a result in a wrong place shows as well as a wrong one.
/// </summary>
internal static class ItemChecksum
{
    /// <summary>What one result adds.</summary>
    public static long Part(int result, int item) => unchecked(result * ((2L * item) + 1));

    /// <summary>What a pass must come to, found one item after the other without any runtime.</summary>
    public static PassResult Expected(Func<int, int> expect, int count)
    {
        long sum = 0;
        for (int item = 0; item < count; item++)
        {
            sum = unchecked(sum + Part(expect(item), item));
        }

        return new PassResult(count, sum);
    }
}

namespace Weir.Lab.Workloads;

/// <summary>Picks a share of the items: always the same ones, scattered evenly.</summary>
internal static class Share
{
    public static bool IsPicked(int item, double share, uint salt) => Mix((uint)item + (salt * 0x9E3779B9)) < share * (uint.MaxValue + 1.0);

    // A bijection of 32-bit numbers whose every output bit depends on every input bit.
    private static uint Mix(uint value)
    {
        unchecked
        {
            value ^= value >> 16;
            value *= 0x7feb352d;
            value ^= value >> 15;
            value *= 0x846ca68b;
            return value ^ (value >> 16);
        }
    }
}

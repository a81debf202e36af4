namespace Weir;

/// <summary>Converts indices for the hooks.</summary>
internal static class Indices
{
    public static int ToInt(long index) => index > int.MaxValue ? int.MaxValue : (int)index;
}

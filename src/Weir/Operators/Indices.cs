namespace Weir.Operators;

/// <summary>Indices as the hooks get them.</summary>
internal static class Indices
{
    public static int ToInt(long index) => index > int.MaxValue ? int.MaxValue : (int)index;
}

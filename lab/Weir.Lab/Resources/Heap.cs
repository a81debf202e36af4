namespace Weir.Lab.Resources;

/// <summary>Collects garbage before a measurement, so that it does not pay for earlier garbage.</summary>
internal static class Heap
{
    /// <summary>Collects all garbage, including objects that finalizers release.</summary>
    public static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
    }
}

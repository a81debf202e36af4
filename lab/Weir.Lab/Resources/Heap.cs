namespace Weir.Lab.Resources;

/// <summary>Collects garbage before something is measured, so that nothing pays for what was before it.</summary>
internal static class Heap
{
    /// <summary>Collects all that can be collected, with what finalizers let go.</summary>
    public static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
    }
}

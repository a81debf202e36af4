using System.Runtime.CompilerServices;

namespace Weir.TestKit;

/// <summary>Finds out whether anything still holds an object after its use.</summary>
public static class Leak
{
    /// <summary>Waits until the garbage collector has taken all of the objects.</summary>
    public static Task GoneAsync(IReadOnlyCollection<WeakReference> objects, string what) =>
        Guard.UntilAsync(
            () =>
            {
                Collect();
                return objects.All(static o => !o.IsAlive);
            },
            $"the collection of {what}");

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
    }
}

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

    /// <summary>Makes an object that may be collected once this returns, and not before something has been looked at.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static WeakReference Forgotten(Func<object> make, Action look)
    {
        ArgumentNullException.ThrowIfNull(make);
        ArgumentNullException.ThrowIfNull(look);
        object made = make();
        look();
        GC.KeepAlive(made);
        return new WeakReference(made);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
    }
}

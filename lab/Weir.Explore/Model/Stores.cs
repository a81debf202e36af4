namespace Weir.Explore.Model;

/// <summary>What is called for volatile accesses, and before atomic ones, where stores are seen late.</summary>
internal static class Stores
{
    public static T Read<T>(ref T place) => Of(out ControlledThread? me) is { } stores ? stores.Read(me, ref place) : place;

    public static void Write<T>(ref T place, T value)
    {
        if (Of(out ControlledThread? me) is { } stores)
        {
            stores.Write(me, ref place, value);
        }
        else
        {
            place = value;
        }
    }

    /// <summary>Before an atomic operation on this place.</summary>
    public static void Touch(ref byte place)
    {
        if (Of(out ControlledThread? me) is { } stores)
        {
            stores.ShowOfOthers(me, ref place);
        }
    }

    public static void BarrierProcessWide() => ControlledThread.Current?.Execution.Stores?.ShowAll();

    private static StoreBuffers? Of([System.Diagnostics.CodeAnalysis.NotNull] out ControlledThread? me)
    {
        me = ControlledThread.Current!;
        return me is { AtomicDepth: 0 } ? me.Execution.Stores : null;
    }
}

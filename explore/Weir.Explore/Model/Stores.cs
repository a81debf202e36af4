using System.Runtime.InteropServices;

namespace Weir.Explore.Model;

/// <summary>What is called for accesses to memory where stores are seen late, data races are looked for or states are compared.</summary>
internal static class Stores
{
    /// <summary>A volatile read.</summary>
    public static T Read<T>(ref T place)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Races?.AcquireAt(me, ref place);
        execution?.Conflicts?.Read(me, ref place, isThrough: true);
        return execution?.Stores is { } stores ? stores.Read(me, ref place) : place;
    }

    /// <summary>A volatile write.</summary>
    public static void Write<T>(ref T place, T value)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Races?.ReleaseAt(me, ref place);
        execution?.Conflicts?.Write(me, ref place, isThrough: true);
        Store(execution, me, ref place, value);
    }

    public static T ReadPlain<T>(ref T place, string site)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Read(me, ref place, site, isThrough: false);
        return execution?.Stores is { } stores ? stores.Read(me, ref place) : place;
    }

    public static void WritePlain<T>(ref T place, T value, string site)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Write(me, ref place, site, isThrough: false);
        Store(execution, me, ref place, value);
    }

    /// <summary>A plain read of what others do not write late.</summary>
    public static T ReadAtOnce<T>(ref T place, string site)
    {
        Of(out ControlledThread? me)?.Read(me, ref place, site, isThrough: false);
        return place;
    }

    public static void WriteAtOnce<T>(ref T place, T value, string site)
    {
        Of(out ControlledThread? me)?.Write(me, ref place, site, isThrough: false);
        place = value;
    }

    /// <summary>A read through a reference, which may lead into an array or an object of the platform.</summary>
    public static T ReadThrough<T>(ref T place, string site)
    {
        Of(out ControlledThread? me)?.Read(me, ref place, site, isThrough: true);
        return place;
    }

    public static void WriteThrough<T>(ref T place, T value, string site)
    {
        Of(out ControlledThread? me)?.Write(me, ref place, site, isThrough: true);
        place = value;
    }

    /// <summary>A plain write of no value at all.</summary>
    public static void Clear<T>(ref T place) => WriteThrough(ref place, default!, "");

    public static T ReadElement<T>(T[] array, nint index, string site)
    {
        T value = array[index];
        Of(out ControlledThread? me)?.Read(me, ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(array), index), site, isThrough: true);
        return value;
    }

    public static void WriteElement<T>(T[] array, nint index, T value, string site)
    {
        // Not by its address: an array of a type that is derived from T has no such addresses.
        _ = array[index];
        Of(out ControlledThread? me)?.Write(me, ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(array), index), site, isThrough: true);
        array[index] = value;
    }

    /// <summary>Before an atomic operation on this place.</summary>
    public static void Touch(ref byte place)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Stores?.ShowOfOthers(me, ref place);
        execution?.Races?.AcquireAt(me, ref place);
        execution?.Races?.ReleaseAt(me, ref place);
        execution?.Conflicts?.Write(me, ref place, isThrough: true);
    }

    public static void BarrierProcessWide() => ControlledThread.Current?.Execution.Stores?.ShowAll();

    private static void Store<T>(Execution? execution, ControlledThread me, ref T place, T value)
    {
        if (execution?.Stores is { } stores)
        {
            stores.Write(me, ref place, value);
        }
        else
        {
            place = value;
        }
    }

    /// <summary>Null where nobody else can see what is done.</summary>
    private static Execution? Of([System.Diagnostics.CodeAnalysis.NotNull] out ControlledThread? me)
    {
        me = ControlledThread.Current!;
        return me is { AtomicDepth: 0 } ? me.Execution : null;
    }
}

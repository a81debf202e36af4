using System.Runtime.InteropServices;

namespace Weir.Explore.Model;

/// <summary>What is called for accesses to memory where stores are seen late, data races are looked for or states are compared.</summary>
internal static class Stores
{
    /// <summary>A volatile read.</summary>
    public static T Read<T>(ref T location)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Races?.AcquireAt(me, ref location);
        execution?.Conflicts?.Read(me, ref location, isThrough: true);
        return execution?.Stores is { } stores ? stores.Read(me, ref location) : location;
    }

    /// <summary>A volatile write.</summary>
    public static void Write<T>(ref T location, T value)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Races?.ReleaseAt(me, ref location);
        execution?.Conflicts?.Write(me, ref location, isThrough: true);
        Store(execution, me, ref location, value);
    }

    /// <summary>Before a store there: in which object it is, or that it is a static field.</summary>
    public static ref T Known<T>(object? owner, ref T location)
    {
        Of(out ControlledThread? me)?.Stores?.Known(me, owner, ref location);
        return ref location;
    }

    /// <summary>Before memory is used in a way that is not told: what this thread has stored is in it.</summary>
    public static void Flush()
    {
        if (ControlledThread.Current is { } me)
        {
            me.Execution.Stores?.Flush(me);
        }
    }

    /// <summary>A volatile write of a field.</summary>
    public static void WriteOf<T>(object? owner, ref T location, T value) => Write(ref Known(owner, ref location), value);
    public static void WritePlainOf<T>(object? owner, ref T location, T value, string site) => WritePlain(ref Known(owner, ref location), value, site);

    public static T ReadPlain<T>(ref T location, string site)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Read(me, ref location, site, isThrough: false, isPoint: true);
        return execution?.Stores is { } stores ? stores.Read(me, ref location) : location;
    }

    public static void WritePlain<T>(ref T location, T value, string site)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Write(me, ref location, site, isThrough: false, isPoint: true);
        Store(execution, me, ref location, value);
    }

    /// <summary>A plain read of what others do not write late.</summary>
    public static T ReadAtOnce<T>(ref T location, string site)
    {
        Of(out ControlledThread? me)?.Read(me, ref location, site, isThrough: false);
        return location;
    }

    public static void WriteAtOnce<T>(ref T location, T value, string site)
    {
        Of(out ControlledThread? me)?.Write(me, ref location, site, isThrough: false);
        location = value;
    }

    /// <summary>A read through a reference, which may lead into an array or an object of the platform.</summary>
    public static T ReadThrough<T>(ref T location, string site)
    {
        Of(out ControlledThread? me)?.Read(me, ref location, site, isThrough: true);
        return location;
    }

    public static void WriteThrough<T>(ref T location, T value, string site)
    {
        Of(out ControlledThread? me)?.Write(me, ref location, site, isThrough: true);
        location = value;
    }

    /// <summary>A plain write of no value at all.</summary>
    public static void Clear<T>(ref T location) => WriteThrough(ref location, default!, "");

    public static T ReadElement<T>(T[] array, nint index, string site)
    {
        _ = array[index];
        ref T location = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(array), index);
        Execution? execution = Of(out ControlledThread? me);
        execution?.Read(me, ref location, site, isThrough: true);
        return execution?.Stores is { } stores ? stores.Read(me, ref location) : location;
    }

    public static void WriteElement<T>(T[] array, nint index, T value, string site)
    {
        // Not by its address: an array of a type that is derived from T has no such addresses.
        _ = array[index];
        Flush();
        Of(out ControlledThread? me)?.Write(me, ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(array), index), site, isThrough: true);
        array[index] = value;
    }

    /// <summary>Before an atomic operation on this location.</summary>
    public static void Touch(ref byte location)
    {
        Execution? execution = Of(out ControlledThread? me);
        execution?.Races?.AcquireAt(me, ref location);
        execution?.Races?.ReleaseAt(me, ref location);
        execution?.Conflicts?.Write(me, ref location, isThrough: true);
    }

    public static void BarrierProcessWide() => ControlledThread.Current?.Execution.Stores?.FlushAll();

    private static void Store<T>(Execution? execution, ControlledThread me, ref T location, T value)
    {
        if (execution?.Stores is { } stores)
        {
            stores.Write(me, ref location, value);
        }
        else
        {
            location = value;
        }
    }

    /// <summary>Null where nobody else can see what is done.</summary>
    private static Execution? Of([System.Diagnostics.CodeAnalysis.NotNull] out ControlledThread? me)
    {
        me = ControlledThread.Current!;
        return me is { AtomicDepth: 0 } ? me.Execution : null;
    }
}

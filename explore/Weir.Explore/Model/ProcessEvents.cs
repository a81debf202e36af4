namespace Weir.Explore.Model;

/// <summary>What the process tells comes at no known moment, so it comes in no schedule, and the process does not hold the handlers of each of them.</summary>
#pragma warning disable IDE1006, IDE0060 // The names of the events' methods, and what they are given.
[Replaces("System.AppDomain")]
[Replaces("System.Threading.Tasks.TaskScheduler")]
internal static class ProcessEvents
{
    public static void add_AssemblyLoad(AppDomain domain, AssemblyLoadEventHandler? handler) { }

    public static void remove_AssemblyLoad(AppDomain domain, AssemblyLoadEventHandler? handler) { }

    public static void add_UnobservedTaskException(EventHandler<UnobservedTaskExceptionEventArgs>? handler) { }

    public static void remove_UnobservedTaskException(EventHandler<UnobservedTaskExceptionEventArgs>? handler) { }

    public static void add_ProcessExit(AppDomain domain, EventHandler? handler) { }

    public static void remove_ProcessExit(AppDomain domain, EventHandler? handler) { }
}

/// <summary>Nor does a garbage collection: what a weak reference was given is there until the end of its schedule.</summary>
[Replaces("System.WeakReference`1")]
internal static class WeakReferences
{
    public static WeakReference<T> New<T>(T? target)
        where T : class => new(Held(target)!);

    public static WeakReference<T> New<T>(T? target, bool trackResurrection)
        where T : class => new(Held(target)!, trackResurrection);

    public static void SetTarget<T>(WeakReference<T> reference, T target)
        where T : class => reference.SetTarget(Held(target));

    private static T Held<T>(T target)
    {
        ControlledThread.Current?.Execution.Held.Add(target);
        return target;
    }
}

internal static class Meters
{
    /// <summary>What is registered in the process, as meters, their listeners and sources of spans are, goes with its schedule.</summary>
    public static T DisposeLater<T>(T made)
        where T : IDisposable
    {
        Effects.WriteInstruments();
        Statics.DisposeLater(made);
        return made;
    }
}

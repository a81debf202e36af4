using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>Who reads the runs of the process while they go on, and counts them when they end. There is one once something can be listened to.</summary>
internal abstract class RunObserver
{
    private static volatile RunObserver? _current;

    /// <summary>The observer of the process, or null until there is one.</summary>
    public static RunObserver? Current
    {
        get => _current;
        set => _current = value;
    }

    /// <summary>Whether runs that nobody has seen are told too when they end.</summary>
    public abstract bool WantsEnds { get; }

    /// <summary>Whether waits are told.</summary>
    public abstract bool WantsWaits { get; }

    /// <summary>An item of a run has waited. Must not throw.</summary>
    public abstract void Waited(LiveRun run, WaitKind kind, TimeSpan elapsed);

    /// <summary>A run has ended, and its counts are final. It is in the list of the watch until the observer removes it. Must not throw.</summary>
    /// <param name="run">The run.</param>
    /// <param name="ending"><see cref="ItemStatus.Succeeded"/> if it was completed.</param>
    public abstract void Ended(LiveRun run, ItemStatus ending);
}

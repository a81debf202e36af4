using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>
/// What goes on for a while and can be seen meanwhile: in the list of the <see cref="StallWatch"/> from its start to its end. Nothing here costs an item.
/// </summary>
internal abstract class LiveRun
{
    /// <summary>The index in the watch's list, or -1 if it is not in the list. Guarded by the watch's lock, as the next two are.</summary>
    public int WatchIndex = -1;

    /// <summary>Whether the observer has shown it to somebody, so that its counts must not be lost.</summary>
    public bool IsSeen;

    /// <summary>Whether it has left the list for good.</summary>
    public bool HasLeft;

    /// <summary>Whether the stall watch looks at it.</summary>
    public volatile bool IsWatched;

    /// <summary>When it started, as a timestamp of its clock.</summary>
    public long StartedAt;

    /// <summary>What the caller called, such as SelectParallelAsync; null if nobody is to see it.</summary>
    public abstract string? Operation { get; }

    /// <summary>What the observer knows the caller's own name and tags from.</summary>
    public abstract object? About { get; }

    /// <summary>The clock.</summary>
    public abstract TimeProvider Time { get; }

    /// <summary>Who is told of each wait, besides the observer, or null.</summary>
    protected virtual WaitListener? Waits => null;

    /// <summary>The counts so far.</summary>
    public abstract RunSample Sample();

    /// <summary>Called by the stall watch.</summary>
    /// <param name="cores">How many cores the process has kept busy since the last look; not a number where the system does not say.</param>
    public virtual void OnWatch(double cores)
    {
    }

    /// <summary>An item begins to wait.</summary>
    /// <param name="kind">What it waits for.</param>
    /// <param name="first">Since when, as a timestamp of the run's clock, counting the waits right before it for the same.</param>
    public void WaitBegins(WaitKind kind, long first) => Waits?.Began(kind, first);

    /// <summary>An item has waited, and goes on.</summary>
    /// <param name="kind">What it waited for.</param>
    /// <param name="since">When it began to wait, as a timestamp of the run's clock.</param>
    /// <param name="first">What <see cref="WaitBegins"/> was told.</param>
    public void WaitEnds(WaitKind kind, long since, long first)
    {
        if (Operation is not null && RunObserver.Current is { WantsWaits: true } observer)
        {
            observer.Waited(this, kind, Time.GetElapsedTime(since));
        }

        Waits?.Ended(kind, first);
    }

    /// <summary>All has ended: it leaves the list, and is counted if somebody has seen it or wants to know of each end.</summary>
    protected void LeaveWatch(ItemStatus ending)
    {
        RunObserver? observer = Operation is null ? null : RunObserver.Current;
        if (observer is null)
        {
            StallWatch.Remove(this);
        }
        else if (!StallWatch.RemoveUncounted(this, observer.WantsEnds))
        {
            observer.Ended(this, ending);
        }
    }
}

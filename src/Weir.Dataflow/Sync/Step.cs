namespace Weir.Dataflow.Sync;

/// <summary>The points of <see cref="Steps"/>.</summary>
internal enum Step
{
    /// <summary>A writer has put its message into the queue, and not yet looked whether the worker is active.</summary>
    Stored,

    /// <summary>The worker has found the queue empty.</summary>
    FoundNothing,

    /// <summary>The worker has said that it is not active, and not yet looked at the queue again.</summary>
    SaidIdle,

    /// <summary>The worker has counted room that it gives back, and not yet asked whether anybody waits for it.</summary>
    CountedRoom,

    /// <summary>A sender has found no room, and not yet announced that it waits for some. It holds the lock.</summary>
    FoundFull,

    /// <summary>A sender has announced that it waits for room, and not yet looked at the count again.</summary>
    SaidWaiting,

    /// <summary>Memory is about to be allocated while a lock is held: what comes with it is what holds it, or its type.</summary>
    Allocates,
}

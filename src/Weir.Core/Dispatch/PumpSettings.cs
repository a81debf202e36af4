using Weir.Core.Metering;
using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>The settings of a run. Set when they are made, and never after that.</summary>
/// <remarks>Fields, here and in the engine's other inner types: each accessor is one more method that the first run of a process compiles.</remarks>
internal record PumpSettings
{
    /// <summary>How many items may be in flight at once.</summary>
    public required int Limit;

    /// <summary>Moves the limit during the run, or null.</summary>
    public AdaptiveController? Adaptive;

    public required ErrorMode ErrorMode;

    /// <summary>How long one item may take, or null.</summary>
    public TimeSpan? PerItemTimeout;

    /// <summary>
    /// Whether no code of the user gets an item's token, and nobody else keeps it for longer than its attempt. Then the items of a worker may have the same,
    /// one after the other, as long as it is not cancelled.
    /// </summary>
    public bool SharesTokens;

    /// <summary>The user's hook for a failed item: false stops the run.</summary>
    public Func<long, Exception, ValueTask<bool>>? OnError;

    /// <summary>The user's hook for when reading pauses because the consumer is behind.</summary>
    public Func<long, ValueTask>? OnThrottle;

    /// <summary>The user's hook for when reading resumes after a pause.</summary>
    public Func<long, ValueTask>? OnDrain;

    /// <summary>Whether pauses are counted even though there is no hook for them.</summary>
    public bool CountsPauses;

    /// <summary>Whether anybody wants to know of pauses.</summary>
    public bool WatchesPauses => CountsPauses || OnThrottle is not null || OnDrain is not null;

    /// <summary>Whether running items can be given up, which costs one atomic operation per item. Always true with an item timeout.</summary>
    public bool Guarded;

    /// <summary>Called once when all items of the run have ended, before the run itself ends.</summary>
    public Action? OnEnd;

    /// <summary>Called when the limit was raised, or null.</summary>
    public Action? OnLimitRaised;

    /// <summary>Measures the items and moves the limit during the run, or null. Only for guarded runs.</summary>
    public IRunPilot? Pilot;

    /// <summary>Who is told of each wait, or null.</summary>
    public WaitListener? Waits;

    /// <summary>What the caller called, for observers; null if the run is not to be seen.</summary>
    public string? Operation;

    /// <summary>What observers know the caller's own name and tags from.</summary>
    public object? About;

    public TimeProvider TimeProvider = TimeProvider.System;

    public Executor Executor = PoolExecutor.Instance;
}

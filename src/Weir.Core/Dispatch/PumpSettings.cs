using Weir.Core.Sinks;

namespace Weir.Core.Dispatch;

/// <summary>The settings of a run.</summary>
internal sealed record PumpSettings
{
    /// <summary>How many items may be in flight at once.</summary>
    public required int Limit { get; init; }

    /// <summary>Moves the limit during the run, or null.</summary>
    public AdaptiveController? Adaptive { get; init; }

    public required ErrorMode ErrorMode { get; init; }

    /// <summary>How long one item may take, or null.</summary>
    public TimeSpan? PerItemTimeout { get; init; }

    /// <summary>The user's hook for a failed item: false stops the run.</summary>
    public Func<long, Exception, ValueTask<bool>>? OnError { get; init; }

    /// <summary>The user's hook for when reading pauses because the consumer is behind.</summary>
    public Func<long, ValueTask>? OnThrottle { get; init; }

    /// <summary>The user's hook for when reading resumes after a pause.</summary>
    public Func<long, ValueTask>? OnDrain { get; init; }

    /// <summary>Whether pauses are counted even though there is no hook for them.</summary>
    public bool CountsPauses { get; init; }

    /// <summary>Whether running items can be given up, which costs one atomic operation per item. Always true with an item timeout.</summary>
    public bool Guarded { get; init; }

    /// <summary>Called once when all items of the run have ended, before the run itself ends.</summary>
    public Action? OnEnd { get; init; }

    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    public Executor Executor { get; init; } = PoolExecutor.Instance;
}

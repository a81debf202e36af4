namespace Weir.Dataflow.Cores;

/// <summary>A join of any kind, as its targets see it.</summary>
internal interface IJoin
{
    /// <summary>Whether the block is complete.</summary>
    bool IsCompleted { get; }

    /// <summary>What a target's ToString says.</summary>
    string NameOf(IJoinedTarget target);

    void Fault(Exception exception);

    /// <summary>All targets decline, and throw away what they have.</summary>
    void FailAll();

    void Cancelled();

    /// <summary>A target declines and has ended.</summary>
    void TargetFinished(List<Exception>? exceptions);
}

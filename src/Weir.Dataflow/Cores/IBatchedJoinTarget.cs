namespace Weir.Dataflow.Cores;

/// <summary>A target of a batched join.</summary>
internal interface IBatchedJoinTarget : IJoinedTarget
{
    /// <summary>Takes what it postponed, if that is allowed now.</summary>
    void Retry();
}

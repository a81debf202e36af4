namespace Weir.Dataflow.Cores;

/// <summary>A target of a join that makes a tuple of single messages.</summary>
internal interface IJoinTarget : IJoinedTarget
{
    bool HasItemNeedsLock { get; }

    /// <summary>How many messages wait, read without a lock.</summary>
    int CountNow { get; }

    bool IsDeclining { get; }

    void FailInside(Exception exception);

    void Recheck();

    void Free(int count, bool here);

    bool CanFetch();

    bool TryReserve();

    /// <summary>Releases what is reserved, if anything is.</summary>
    void ReleaseReserved();

    void ConsumeReserved();

    void StoreConsumed();
}

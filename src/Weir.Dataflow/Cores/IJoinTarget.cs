namespace Weir.Dataflow.Cores;

/// <summary>A target of a join, whatever its messages.</summary>
internal interface IJoinTarget
{
    bool HasItemNeedsLock { get; }

    /// <summary>How many messages wait, read without a lock.</summary>
    int CountNow { get; }

    bool IsDeclining { get; }

    /// <summary>Declines and throws away what the target has.</summary>
    void Fail(Exception? exception);

    void FailInside(Exception exception);

    /// <summary>Declines, and keeps what the target has.</summary>
    void Decline();

    void Recheck();

    void Free(int count, bool here);

    void StopListeningToToken();

    bool CanFetch();

    bool TryReserve();

    /// <summary>Releases what is reserved, if anything is.</summary>
    void ReleaseReserved();

    void ConsumeReserved();

    void StoreConsumed();
}

namespace Weir.Dataflow.Cores;

/// <summary>A target of a batched join, for any type of messages.</summary>
internal interface IBatchedJoinTarget
{
    /// <summary>Declines, and discards what the target has.</summary>
    void Fail(Exception? exception);

    /// <summary>Declines, and keeps what the target has.</summary>
    void Decline();

    /// <summary>Takes what it postponed, if that is allowed now.</summary>
    void Retry();

    void StopListeningToToken();
}

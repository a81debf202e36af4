namespace Weir.Dataflow.Cores;

/// <summary>A target of a batched join, whatever its messages.</summary>
internal interface IBatchedJoinTarget
{
    /// <summary>Declines, and throws away what the target has.</summary>
    void Fail(Exception? exception);

    /// <summary>Declines, and keeps what the target has.</summary>
    void Decline();

    /// <summary>Takes what it postponed, if it may now.</summary>
    void Retry();

    void StopListeningToToken();
}

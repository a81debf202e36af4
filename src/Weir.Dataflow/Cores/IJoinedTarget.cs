namespace Weir.Dataflow.Cores;

/// <summary>A target of a join of any kind, whatever its messages.</summary>
internal interface IJoinedTarget
{
    /// <summary>Declines and throws away what the target has.</summary>
    void Fail(Exception? exception);

    /// <summary>Declines, and keeps what the target has.</summary>
    void Decline();

    /// <summary>What a tuple was made of is the tuple's. Under the join's lock.</summary>
    void TakenNeedsLock();

    void StopListeningToToken();
}

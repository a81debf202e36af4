namespace Weir.Delivery;

/// <summary>When a batch is acknowledged.</summary>
public enum AcknowledgePoint
{
    /// <summary>After each of its items has an outcome that survives a crash. Each item is processed at least once.</summary>
    AfterProcessing,

    /// <summary>
    /// When it has been read, before it is processed. Each item is processed at most once: items that a process has when it dies are lost. A host that is
    /// stopped still starts what it has read, and what has not ended when its grace period ends is lost.
    /// </summary>
    OnReceipt,
}

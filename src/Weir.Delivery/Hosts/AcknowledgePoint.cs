namespace Weir.Delivery;

/// <summary>When a batch is acknowledged.</summary>
public enum AcknowledgePoint
{
    /// <summary>When each of its items has an outcome that survives a crash. Each item is processed at least once.</summary>
    AfterProcessing,

    /// <summary>When it was read, before it is processed. Each item is processed at most once: what was running when a process dies is lost.</summary>
    OnReceipt,
}

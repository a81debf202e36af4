namespace Weir;

/// <summary>How one item of a run ended. Every item has exactly one status.</summary>
public enum ItemStatus
{
    /// <summary>The item was never attempted, because the run was stopped, its deadline passed, or its runtime was disposed first.</summary>
    NotRun = 0,

    /// <summary>The call returned a result.</summary>
    Succeeded = 1,

    /// <summary>The call threw an exception.</summary>
    Failed = 2,

    /// <summary>The item had started, but did not end within its time limit or that of its last attempt, or before the deadline of its batch.</summary>
    TimedOut = 3,

    /// <summary>The item had started, or was waiting for another attempt, and was cancelled because the run was stopped or its runtime was disposed.</summary>
    Cancelled = 4,
}

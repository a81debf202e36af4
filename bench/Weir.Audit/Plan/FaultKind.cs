namespace Weir.Audit.Plan;

/// <summary>What happens to a participant.</summary>
internal enum FaultKind
{
    /// <summary>Its process is killed (SIGKILL), and started again a moment later.</summary>
    Kill,

    /// <summary>It is asked to stop, and started again.</summary>
    Restart,

    /// <summary>All its connections are reset.</summary>
    Cut,

    /// <summary>Nothing passes its connections for a while.</summary>
    Stall,

    /// <summary>The server ends all sessions.</summary>
    EndSessions,
}

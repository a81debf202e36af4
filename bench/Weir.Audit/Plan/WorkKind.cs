namespace Weir.Audit.Plan;

/// <summary>What the handler of an item does, beside its effect.</summary>
internal enum WorkKind
{
    /// <summary>It waits for up to 28 ms, so that whoever is killed has something in hand.</summary>
    Quick,

    /// <summary>It holds its thread, and all of them the pool.</summary>
    Blocking,

    /// <summary>It awaits 20 ms.</summary>
    Awaiting,

    /// <summary>It holds its thread for 20 ms.</summary>
    BlockingShortly,

    /// <summary>Each second awaits 20 ms, and the others hold their threads for as long.</summary>
    Mixed,

    /// <summary>One in 16 lasts longer than two of the short leases.</summary>
    Long,
}

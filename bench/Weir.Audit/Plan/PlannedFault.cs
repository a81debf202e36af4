namespace Weir.Audit.Plan;

/// <summary>A fault of a round.</summary>
/// <param name="Percent">When: after this share of the round's changes was published.</param>
/// <param name="Target">Whom it happens to.</param>
/// <param name="Kind">What happens.</param>
/// <param name="Milliseconds">How long a stall lasts, and how long somebody who was killed is away.</param>
internal sealed record PlannedFault(int Percent, string Target, FaultKind Kind, int Milliseconds)
{
    public override string ToString() => Kind switch
    {
        FaultKind.Kill => Invariant($"{Target} killed at {Percent} %, for {Milliseconds} ms"),
        FaultKind.Restart => Invariant($"{Target} restarted at {Percent} %"),
        FaultKind.Cut => Invariant($"connections of {Target} cut at {Percent} %"),
        FaultKind.Stall => Invariant($"connections of {Target} stalled at {Percent} %, for {Milliseconds} ms"),
        _ => Invariant($"all sessions ended by {Target} at {Percent} %"),
    };
}

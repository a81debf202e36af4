namespace Weir.Audit.Report;

/// <summary>The result of an audit. It contains no connection string.</summary>
internal sealed record AuditReport
{
    public string Format { get; init; } = "weir-audit";

    public int Version { get; init; } = 1;

    public required string Engine { get; init; }

    public required int Seed { get; init; }

    /// <summary>The names of the scenarios, in the order in which they were run.</summary>
    public required IReadOnlyList<string> Scenarios { get; init; }

    /// <summary>The number of rounds that were asked for, of each scenario.</summary>
    public required int RoundsPlanned { get; init; }

    /// <summary>The number of changes that each round publishes; <see langword="null"/> for that of the scenario.</summary>
    public required int? Changes { get; init; }

    public required int Workers { get; init; }

    /// <summary>Whether the server was one of the audit's own, which was killed and restarted too.</summary>
    public required bool OwnServer { get; init; }

    /// <summary>Whether a reader moved the changes from the table into the queue.</summary>
    public required bool FromTable { get; init; }

    /// <summary>The fault that was put in on purpose.</summary>
    public required SeededFault Fault { get; init; }

    /// <summary>Whether it was stopped before its last round.</summary>
    public bool Partial { get; init; }

    public IReadOnlyList<AuditRoundRecord> Rounds { get; init; } = [];

    /// <summary>How long scenarios took to recover from kills of workers, those in which any was killed.</summary>
    public IEnumerable<AuditRecoveries> Recoveries => AuditRecoveries.Of(Rounds);

    /// <summary>All rounds together.</summary>
    public AuditCounts Total { get; init; } = new();

    /// <summary>What was left behind at the end.</summary>
    public IReadOnlyList<string> LeftBehind { get; init; } = [];

    /// <summary>Whether a promise was broken.</summary>
    public bool IsBroken => LeftBehind.Count > 0 || Rounds.Any(static r => r.Broken.Count > 0);
}

using Weir.Audit.Report;

namespace Weir.Audit;

/// <summary>The checked values of the options.</summary>
internal sealed record AuditSettings
{
    /// <summary>The report before the first round: what is audited, and how.</summary>
    public required AuditReport Plan { get; init; }

    /// <summary>The scenarios, one after the other.</summary>
    public required IReadOnlyList<AuditScenario> Scenarios { get; init; }

    /// <summary>The server that is given, with its password; <see langword="null"/> for one of its own.</summary>
    public string? Postgres { get; init; }

    /// <summary>The broker that is given, with its password; <see langword="null"/> for one of its own, or none.</summary>
    public Uri? Rabbit { get; init; }

    /// <summary>How long a round may take, after its last fault, until everything is applied.</summary>
    public required TimeSpan Patience { get; init; }

    public bool Json { get; init; }

    public bool Quiet { get; init; }

    public FileInfo? Page { get; init; }

    /// <summary>How many changes each round of a scenario publishes.</summary>
    public int ChangesOf(AuditScenario scenario) => Plan.Changes ?? scenario.Changes;
}

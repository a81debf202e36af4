namespace Weir.Delivery.Cli.Commands.Audit;

/// <summary>The checked values of the options.</summary>
internal sealed record AuditSettings
{
    public required string Engine { get; init; }

    public required int Rounds { get; init; }

    public required int Seed { get; init; }

    public required int Changes { get; init; }

    public required int Workers { get; init; }

    public required SeededFault Fault { get; init; }

    /// <summary>Whether a reader moves the changes from the table into the queue, and not the publisher.</summary>
    public required bool FromTable { get; init; }

    /// <summary>The server that is given, with its password; <see langword="null"/> for one of its own.</summary>
    public string? Postgres { get; init; }

    /// <summary>The broker that is given, with its password; <see langword="null"/> for one of its own, or none.</summary>
    public Uri? Rabbit { get; init; }

    /// <summary>How long a round may take, after its last fault, until everything is applied.</summary>
    public required TimeSpan Patience { get; init; }

    public bool Json { get; init; }

    public bool Quiet { get; init; }

    public FileInfo? Page { get; init; }
}

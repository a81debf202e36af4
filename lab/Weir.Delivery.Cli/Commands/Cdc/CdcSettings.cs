namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>The checked options of <c>cdc</c>, but for the target.</summary>
internal sealed record CdcSettings
{
    public required NpgsqlConnectionStringBuilder Source { get; init; }

    public required string Publication { get; init; }

    public required string Slot { get; init; }

    public required string Schema { get; init; }

    public required PostgresChangeOrder Order { get; init; }

    /// <summary>What becomes of a change that cannot be read.</summary>
    public required PostgresChangeErrorMode OnError { get; init; }

    /// <summary>Whether slot, checkpoint and target are created where they are missing.</summary>
    public required bool IsSetup { get; init; }

    /// <summary>The tables of a publication that is missing; empty for none.</summary>
    public required IReadOnlyList<string> Tables { get; init; }

    public required bool HasSnapshot { get; init; }

    /// <summary>Whether the stream is removed.</summary>
    public required bool IsDrop { get; init; }

    /// <summary>How many changes are in a batch at most.</summary>
    public required int Batch { get; init; }

    public required TimeSpan Grace { get; init; }

    /// <summary>When nothing has come for this time, the stream ends; <see langword="null"/> for never.</summary>
    public required TimeSpan? Idle { get; init; }

    public required bool IsQuiet { get; init; }
}

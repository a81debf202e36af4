namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The checked options of <c>work run</c>.</summary>
internal sealed record RunSettings
{
    /// <summary>What to run for items; <see langword="null"/> to print them.</summary>
    public required ItemCommand? Command { get; init; }

    public required int Batch { get; init; }

    public required int Concurrency { get; init; }

    /// <summary>How often an item is tried; <see langword="null"/> if nobody says.</summary>
    public required int? Attempts { get; init; }

    /// <summary>How long it waits; <see langword="null"/> if nobody says.</summary>
    public required IReadOnlyList<TimeSpan>? Delays { get; init; }

    public required TimeSpan? Timeout { get; init; }

    public required TimeSpan Grace { get; init; }

    /// <summary>When nothing has come for this time, the run ends; <see langword="null"/> for never.</summary>
    public required TimeSpan? Idle { get; init; }

    /// <summary>What to publish first.</summary>
    public required OptionValue? Input { get; init; }

    public required bool IsQuiet { get; init; }
}
